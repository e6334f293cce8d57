import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Store } from '../db.ts'
import type { Sql } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { insertRows } from '../table.ts'
import { onEachMigrated, openMigrated, recordStatements } from '../test-stores.ts'
import type { Work } from '../work.ts'
import { all, first } from '../work.ts'
import { beginReplay, findDueByOrganization, openQueue, restartQueue } from './queues.ts'

const root = 'a'.repeat(40)
const subscription = `${root}/${'1'.repeat(16)}`
const eventCount = 20_000
/** Time between two events. */
const stepMs = 10_000

onEachMigrated(['SQLite', 'PostgreSQL'], 'the position of a queue', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
    await store.write(insertEvents)
  })

  /** Runs the work with a queue that is at the end of the log. */
  const withQueue = <T>(work: () => Work<T>): Promise<T> =>
    store.write(function* () {
      yield* openQueue({ subscription, parent: root, root, isActive: true }, 0)
      const result = yield* work()
      yield sql`delete from delivery_queues where subscription = ${subscription}`
      return result
    })

  const replayStart = (since: number) =>
    withQueue(function* () {
      yield* beginReplay(subscription, since, 0)
      const row = yield* first(sql`select replay_position from delivery_queues`)
      return row?.[0]
    })

  test('starts a replay before all events since a time', async () => {
    assert.equal(await replayStart(0), 0)
    assert.equal(await replayStart(stepMs), 0)
    assert.equal(await replayStart(stepMs + 1), 1)
    assert.equal(await replayStart(eventCount * stepMs), eventCount - 1)
    assert.equal(await replayStart(eventCount * stepMs + 1), null)
  })

  test('starts a replay before all events since a time, even if older events follow one of them', async () => {
    const setTime = (sequence: number, time: number) =>
      store.write(() =>
        all(sql`update events set time = ${time} where root = ${root} and sequence = ${sequence}`),
      )
    // Event 500 has a later time than the two events after it.
    await setTime(500, 502 * stepMs + 5)
    assert.equal(await replayStart(502 * stepMs + 1), 499)
    assert.equal(await replayStart(502 * stepMs + 6), 502)
    await setTime(500, 500 * stepMs)
  })

  test('skips events that are too old when a queue is started again', async () => {
    const restartedAt = (oldest: number) =>
      withQueue(function* () {
        yield sql`update delivery_queues set position = ${10}`
        yield* restartQueue(subscription, 0, oldest)
        const row = yield* first(sql`select position from delivery_queues`)
        return row?.[0]
      })
    assert.equal(await restartedAt(5 * stepMs), 10)
    assert.equal(await restartedAt(50 * stepMs), 49)
    assert.equal(await restartedAt(eventCount * stepMs + 1), eventCount)
  })

  test('is found with the index by time, with and without statistics', async () => {
    const statements: Sql[] = []
    await withQueue(() => recordStatements(beginReplay(subscription, 500 * stepMs, 0), statements))
    const [, search] = statements as [Sql, Sql]
    const command = store.engine === 'sqlite' ? 'explain query plan' : 'explain (costs off)'
    for (const hasStatistics of [false, true]) {
      if (hasStatistics) await store.write(() => all(raw('analyze events')))
      const rows = await store.query(sql`${raw(command)} ${search}`)
      const plan = rows.map((row) => String(row.at(-1)).trim()).join('\n')
      assert.match(plan, /events_by_time/)
      assert.doesNotMatch(plan, /SCAN events|Seq Scan on events|sqlite_autoindex_events|events_pkey/)
    }
  })
})

onEachMigrated(['SQLite', 'PostgreSQL'], 'due queues by organization', (testStore) => {
  const organizations = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40))
  const [first = '', second = '', third = '', fourth = ''] = organizations
  const numbered = (organization: string, number: number) =>
    `${organization}/${String(number).padStart(16, '0')}`
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
    const stored = ['uid', 'parent', 'root', 'name', 'create_time', 'update_time', 'proto', 'json', 'shape']
    const rowOf = (uid: string, parent: string | null) =>
      [uid, parent, uid.slice(0, 40), 'x', 1, 1, new Uint8Array(), '{}', 'x'] as const
    const numbers = Array.from({ length: 2000 }, (_, at) => at + 1)
    await store.write(function* () {
      for (const organization of organizations) {
        yield* insertRows('groups', stored, [rowOf(organization, null)])
        yield* insertRows(
          'subscriptions',
          stored,
          numbers.map((number) => rowOf(numbered(organization, number), organization)),
        )
        yield* insertRows(
          'delivery_queues',
          ['subscription', 'parent', 'root', 'is_active', 'position', 'due_time', 'is_proven'],
          numbers.map((number) => [
            ...[numbered(organization, number), organization, organization],
            ...[1, 0, 5000 - number, 1],
          ]),
        )
      }
      yield sql`update delivery_queues set due_time = 9000 where root = ${second}`
      yield sql`update delivery_queues set lease_until = 9000 where subscription = ${numbered(third, 2000)}`
    })
  })

  const found = (after: string, limit: number) =>
    store.read(() => findDueByOrganization(true, 6000, { after, limit }))

  test('are, in each organization, the oldest that nobody works on', async () => {
    const queues = [numbered(first, 2000), numbered(third, 1999), numbered(fourth, 2000)].map(
      (subscription) => ({ subscription, root: subscription.slice(0, 40) }),
    )
    assert.deepEqual(await found('', 10), { queues, end: '' })
    assert.deepEqual(await found('', 2), { queues: queues.slice(0, 1), end: second })
    assert.deepEqual(await found(second, 2), { queues: queues.slice(1), end: fourth })
    assert.deepEqual(await found(fourth, 2), { queues: [], end: '' })
    const unproven = await store.read(() => findDueByOrganization(false, 6000, { after: '', limit: 10 }))
    assert.deepEqual(unproven, { queues: [], end: '' })
  })

  test('are found with the index by organization, with and without statistics', async () => {
    const statements: Sql[] = []
    await store.read(() =>
      recordStatements(findDueByOrganization(true, 6000, { after: '', limit: 10 }), statements),
    )
    const [search] = statements as [Sql]
    const command = store.engine === 'sqlite' ? 'explain query plan' : 'explain (costs off)'
    for (const hasStatistics of [false, true]) {
      if (hasStatistics) await store.write(() => all(raw('analyze delivery_queues')))
      const rows = await store.query(sql`${raw(command)} ${search}`)
      const plan = rows.map((row) => String(row.at(-1)).trim()).join('\n')
      const indexes = new Set(plan.match(/delivery_queues_(?:by_root|due|idle|pkey)/g))
      assert.deepEqual([...indexes], ['delivery_queues_by_root'], plan)
      assert.doesNotMatch(plan, /SCAN (?:delivery_queues|q)\b|Seq Scan on delivery|TEMP B-TREE|Sort/, plan)
    }
  })
})

function* insertEvents(): Work<void> {
  yield sql`with recursive numbers(sequence) as
    (select 1 union all select sequence + 1 from numbers where sequence < ${eventCount})
    insert into events (id, root, group_uid, kind, uid, action, method, actor, origin, time, code, sequence, hash)
    select 'id' || sequence, ${root}, ${root}, 'groups', ${root}, 'created', 'CreateGroup', '', '{}',
      sequence * ${stepMs}, 0, sequence, 'hash' from numbers`
  yield sql`insert into event_chains (root, sequence, hash, first_sequence, anchor, first_time)
    values (${root}, ${eventCount}, 'hash', 1, '', ${stepMs})`
}
