// On SQLite, events are sealed in the transaction that records them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Store } from '../db.ts'
import { raw, sql } from '../sql.ts'
import { onEachMigrated, openMigrated } from '../test-stores.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import { countFromZero } from '../write-access.ts'
import type { EventRow } from './event-row.ts'
import { chainHash } from './event-row.ts'
import { readSealed } from './read-sealed.ts'
import { recordEvent } from './record.ts'
import { hasUnsealed, sealBatch } from './seal.ts'
import { verifyChains } from './verify-chains.ts'

onEachMigrated(['SQLite'], 'sealed inserts', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })
  after(() => store.close())

  const origin = {
    ...{ method: 'test', actor: '', describe: () => '{"door":"operator"}' },
    ...{ now: () => 1000, random: randomBytes, nextNumber: countFromZero() },
  }
  const newRoot = () => randomBytes(20).toString('hex')
  const eventIn = (root: string, uid: string) => ({ group: root, kind: 'groups', uid, action: 'created' })
  const record = (root: string, uid: string) => () => recordEvent({ origin }, eventIn(root, uid))
  const read = async (root: string) => store.read(() => readSealed(root, 0, 1000))
  const uidsIn = async (root: string) => (await read(root)).map(({ sequence, uid }) => `${sequence} ${uid}`)

  async function verify(root: string): Promise<void> {
    for await (const { head, fault } of verifyChains(store))
      if (head.root === root) assert.equal(fault, undefined)
  }

  test('are in the log when the write has resolved', async () => {
    const root = newRoot()
    await store.write(record(root, 'a'))
    assert.deepEqual(await uidsIn(root), ['1 a'])
    assert.deepEqual(await store.query(hasUnsealed), [])
  })

  test('leave out the events of writes that fail, and have no gaps', async () => {
    const root = newRoot()
    const failing = (uid: string, insertsMore: boolean) =>
      function* (): Work<void> {
        yield* recordEvent({ origin }, eventIn(root, uid))
        if (insertsMore) yield sql`insert into migrations (name, apply_time) values (${uid}, 0)`
        throw new Error('refused')
      }
    const outcomes = await Promise.allSettled([
      store.write(record(root, 'a')),
      store.write(failing('b', false)),
      store.write(record(root, 'c')),
      store.write(failing('d', true)),
      store.write(record(root, 'e')),
    ])
    await store.write(failing('f', true)).catch(() => {})
    await store.write(record(root, 'g'))
    const failed = outcomes.map(({ status }) => status === 'rejected')
    assert.deepEqual(failed, [false, true, false, true, false])
    assert.deepEqual(await uidsIn(root), ['1 a', '2 c', '3 e', '4 g'])
    await verify(root)
  })

  test('leave out the events of writes that are lost because the disk is full', async () => {
    const root = newRoot()
    const limitPages = (pages: number) => store.write(() => all(raw(`pragma max_page_count = ${pages}`)))
    const [used] = await store.query(raw('pragma page_count'))
    await limitPages((used?.[0] as number) + 4)
    const fillDisk = () =>
      all(sql`insert into migrations (name, apply_time) values (${'x'.repeat(1_000_000)}, 0)`)
    const lost = [store.write(record(root, 'a')), store.write(fillDisk), store.write(record(root, 'b'))]
    const outcomes = await Promise.allSettled(lost)
    await limitPages(1_000_000)
    const stored = ['a', 'full', 'b'].filter((_, at) => outcomes[at]?.status === 'fulfilled')
    assert.ok(!stored.includes('a') && !stored.includes('full'))
    await store.write(record(root, 'c'))
    assert.deepEqual(
      await uidsIn(root),
      [...stored, 'c'].map((uid, at) => `${at + 1} ${uid}`),
    )
    await verify(root)
  })

  test('follow events that another process left unsealed', async () => {
    const root = newRoot()
    await store.write(() =>
      all(sql`insert into unsealed_events (id, root, group_uid, kind, uid, action, method, actor, origin, time, code)
        values ('0', ${root}, ${root}, 'groups', 'left', 'created', 'test', '', '{}', 1, 0)`),
    )
    await store.write(record(root, 'a'))
    assert.deepEqual(await uidsIn(root), [])
    await store.write(() => sealBatch(function* () {}))
    await store.write(record(root, 'b'))
    assert.deepEqual(await uidsIn(root), ['1 left', '2 a', '3 b'])
    await verify(root)
  })
})

test('an event has the same hash in every version of the server, also if its text is not ASCII', () => {
  const event: EventRow = {
    ...{
      id: '0123',
      root: 'ab',
      group: 'ab/cd',
      kind: 'groups',
      uid: 'ab/cd',
      action: 'updated',
      method: 'm',
    },
    ...{ actor: '', origin: '{"door":"rest"}', time: 1700000000000, code: 0, details: null },
    ...{ before: null, after: Buffer.from('after') },
  }
  assert.equal(chainHash('', 1, event), '17cac321a95f75aea969c7fbda49f3e0eaf1ec50dff25625d08a635c625e914e')
  const other: EventRow = {
    ...{ ...event, origin: '{"userAgent":"Grüße 👋"}', details: '{"name":"é"}' },
    ...{ before: Buffer.from('before'), after: null },
  }
  assert.equal(chainHash('f00', 2, other), 'a3fab2e461fc02eb65584859decb964e5221e2c005a4d2b16e28d0939bbd48c4')
})
