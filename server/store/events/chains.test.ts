// The hash chains of the event log: sealing, tampering, and deletion of old events.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Store } from '../db.ts'
import type { Sql } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { onEachMigrated, openMigrated } from '../test-stores.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import { countFromZero } from '../write-access.ts'
import type { SealedEvent } from './event-row.ts'
import { readSealed } from './read-sealed.ts'
import { recordEvents, recordStored } from './record.ts'
import { recordedEvents } from './recorded-events.ts'
import { deleteOldEvents } from './retain.ts'
import { sealBatch } from './seal.ts'
import type { ChainFault } from './verify-chains.ts'
import { verifyChains } from './verify-chains.ts'

function* nothing(): Work<void> {}

const textOf = (bytes: Uint8Array | null) => (bytes ? Buffer.from(bytes).toString() : undefined)

onEachMigrated(['SQLite', 'PostgreSQL'], 'event chains', (testStore) => {
  let store: Store
  let time = 1000
  before(async () => {
    store = await openMigrated(testStore())
  })
  after(() => store.close())

  const origin = {
    ...{ method: 'test', actor: '', describe: () => '{"door":"operator"}' },
    ...{ now: () => time++, random: randomBytes, nextNumber: countFromZero() },
  }
  const record = (root: string, count: number) =>
    store.write(() =>
      recordEvents(
        { origin },
        Array.from({ length: count }, (_, at) => ({
          ...{ group: root, kind: 'groups', uid: `${root}/${at}`, action: 'created' },
          after: Buffer.from(`resource ${at}`),
        })),
      ),
    )
  const newRoot = () => randomBytes(20).toString('hex')
  const seal = () => store.write(() => sealBatch(nothing))

  /** A chain with ten events in a new organization. */
  async function makeChain(): Promise<string> {
    const root = newRoot()
    await record(root, 10)
    for (let sealed = await seal(); sealed === 'busy' || sealed.hasMore; sealed = await seal());
    return root
  }

  async function faultOf(root: string): Promise<ChainFault | undefined> {
    for await (const { head, fault } of verifyChains(store)) if (head.root === root) return fault
    return assert.fail('the organization has no chain')
  }

  const read = (root: string): Promise<SealedEvent[]> =>
    Promise.resolve(store.read(() => readSealed(root, 0, 1000)))
  const change = (statement: Sql) => store.write(() => all(statement))

  test('are read completely, and each event once, while the server seals', async () => {
    for (const queriesBeforeSeal of [1, 2]) {
      const root = newRoot()
      const insertUnsealed = (id: string) =>
        change(sql`insert into unsealed_events (id, root, group_uid, kind, uid, action, method, actor, origin, time, code)
          values (${`${root} ${id}`}, ${root}, ${root}, 'groups', ${id}, 'created', 'test', '', '{}', 1, 0)`)
      await insertUnsealed('a')
      await seal()
      for (const id of ['b', 'c']) await insertUnsealed(id)
      let queries = 0
      const sealingStore: Store = {
        ...store,
        async query(statement) {
          const rows = await store.query(statement)
          if (++queries === queriesBeforeSeal) await seal()
          return rows
        },
      }
      const events = await Array.fromAsync(recordedEvents(sealingStore, root))
      assert.deepEqual(
        events.map(({ uid }) => uid),
        ['a', 'b', 'c'],
      )
    }
  })

  test('number the events of each organization, in the order in which they were recorded', async () => {
    const roots = [newRoot(), newRoot()]
    for (const root of [...roots, ...roots]) await record(root, 3)
    await seal()
    for (const root of roots) {
      const events = await read(root)
      assert.deepEqual(
        events.map(({ sequence }) => sequence),
        [1, 2, 3, 4, 5, 6],
      )
      assert.deepEqual(
        events.map(({ time: at }) => at),
        events.map(({ time: at }) => at).toSorted((a, b) => a - b),
      )
      assert.equal(await faultOf(root), undefined)
    }
  })

  test('seal every event once if several sealers run at the same time', async () => {
    const root = newRoot()
    const passedOn: number[] = []
    for (let round = 0; round < 5; round++) {
      const attempt = () =>
        store.write(function* () {
          const batch: number[] = []
          const result = yield* sealBatch((events) => {
            for (const event of events) if (event.root === root) batch.push(event.sequence)
            return nothing()
          })
          return { result, batch }
        })
      const outcomes = await Promise.all([record(root, 20), attempt(), attempt(), attempt()])
      for (const { batch } of outcomes.slice(1) as { batch: number[] }[]) passedOn.push(...batch)
    }
    for (let sealed = await seal(); sealed === 'busy' || sealed.count > 0; sealed = await seal());
    const events = await read(root)
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      Array.from({ length: 100 }, (_, at) => at + 1),
    )
    assert.equal(new Set(passedOn).size, passedOn.length)
    assert.equal(await faultOf(root), undefined)
  })

  test('contain the bytes that were stored when the event was recorded', async () => {
    await change(raw('create table kept (key text primary key, bytes bytea)'))
    const root = newRoot()
    const event = { group: root, kind: 'groups', uid: root, action: 'updated' }
    const stored = sql`(select bytes from kept where key = 'k')`
    await store.write(function* () {
      yield sql`insert into kept (key, bytes) values ('k', ${Buffer.from('first')})`
      yield* recordStored({ origin }, event, { before: stored, after: null })
      yield sql`update kept set bytes = ${Buffer.from('second')} where key = 'k'`
      yield* recordStored({ origin }, event, { before: null, after: stored })
      const deleted = yield sql`delete from kept where key = 'k' returning key`
      assert.deepEqual(deleted, [['k']])
      yield* recordStored({ origin }, event, { before: null, after: stored })
    })
    await seal()
    const bytes = (await read(root)).map((recorded) => [recorded.before, recorded.after].map(textOf))
    assert.deepEqual(bytes, [
      ['first', undefined],
      [undefined, 'second'],
      [undefined, undefined],
    ])
    assert.equal(await faultOf(root), undefined)
  })

  const attacks: Record<string, [attack: (root: string) => Sql, expected: Omit<ChainFault, 'root'>]> = {
    'a changed field': [
      (root) => sql`update events set actor = 'somebody' where root = ${root} and sequence = 4`,
      { sequence: 4, fault: 'changed' },
    ],
    'a changed resource': [
      (root) => sql`update events set after = before where root = ${root} and sequence = 4`,
      { sequence: 4, fault: 'changed' },
    ],
    'a removed event': [
      (root) => sql`delete from events where root = ${root} and sequence = 5`,
      { sequence: 5, fault: 'missing' },
    ],
    'a removed beginning': [
      (root) => sql`delete from events where root = ${root} and sequence <= 2`,
      { sequence: 1, fault: 'missing' },
    ],
    'a removed end': [
      (root) => sql`delete from events where root = ${root} and sequence >= 9`,
      { sequence: 9, fault: 'cut off' },
    ],
    'an added event': [
      (
        root,
      ) => sql`insert into events (id, root, group_uid, kind, uid, action, method, actor, origin, time, code,
          sequence, hash) select ${`x${root}`}, root, group_uid, kind, uid, action, method, actor, origin, time, code,
          11, hash from events where root = ${root} and sequence = 10`,
      { sequence: 11, fault: 'added' },
    ],
    'a removed chain': [
      (root) => sql`delete from event_chains where root = ${root}`,
      { sequence: 1, fault: 'added' },
    ],
  }
  for (const [name, [attack, expected]] of Object.entries(attacks))
    test(`reveal ${name}`, async () => {
      const root = await makeChain()
      assert.equal(await faultOf(root), undefined)
      await change(attack(root))
      assert.deepEqual(await faultOf(root), { root, ...expected })
    })

  test('reveal events that have changed places', async () => {
    const root = await makeChain()
    const move = (from: number, to: number) =>
      change(sql`update events set sequence = ${to} where root = ${root} and sequence = ${from}`)
    await move(3, 99)
    await move(4, 3)
    await move(99, 4)
    assert.deepEqual(await faultOf(root), { root, sequence: 3, fault: 'changed' })
  })

  test('stay valid when the oldest events are deleted, and can be continued', async () => {
    const root = await makeChain()
    const [, , , fourth] = await read(root)
    const cutoff = fourth?.time ?? 0
    while ((await store.write(() => deleteOldEvents(cutoff))) !== undefined);
    assert.deepEqual(
      (await read(root)).map(({ sequence }) => sequence),
      [4, 5, 6, 7, 8, 9, 10],
    )
    assert.equal(await faultOf(root), undefined)
    await change(sql`delete from events where root = ${root} and sequence = 4`)
    assert.deepEqual(await faultOf(root), { root, sequence: 4, fault: 'missing' })
    const other = await makeChain()
    while ((await store.write(() => deleteOldEvents(time))) !== undefined);
    assert.deepEqual(await read(other), [])
    assert.equal(await faultOf(other), undefined)
    await record(other, 2)
    await seal()
    assert.deepEqual(
      (await read(other)).map(({ sequence }) => sequence),
      [11, 12],
    )
    assert.equal(await faultOf(other), undefined)
  })
})
