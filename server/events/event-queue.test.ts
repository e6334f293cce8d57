import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemOrigin } from '../policy/origin.ts'
import type { Store } from '../store/db.ts'
import type { EventWithOrigin } from '../store/events/record.ts'
import { sql } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import { onEachMigrated, openMigrated } from '../store/test-stores.ts'
import { recordedEvents, sealAll } from '../testing/sealed-events.ts'
import type { EventQueueOptions } from './event-queue.ts'
import { openEventQueue } from './event-queue.ts'

const eventIn = (root: string, uid: string): EventWithOrigin => ({
  ...{ group: root, kind: 'identities', uid, action: 'issued' },
  origin: systemOrigin('rest', 'Exchange', { now: () => 1, random: randomBytes }),
})

/** A time that no test reaches. */
const never = 1_000_000

/** The store, with a function in place of `write`. */
const withWrite = (store: Store, write: (original: Store['write']) => Store['write']): Store => ({
  ...store,
  write: write(store.write),
})

/** The first writes throw these errors, one each; `undefined` is a success. `lostResponse` comes after the commit. */
const failingFirst = (store: Store, errors: unknown[], afterCommit = async () => {}): Store =>
  withWrite(store, (write) => async (work, deadline) => {
    const error = errors.shift()
    if (error === undefined) return write(work, deadline)
    if (error === lostResponse) {
      await write(work, deadline)
      await afterCommit()
    }
    throw error
  })

const unavailable = () => new StoreError('unavailable')
const lostResponse = unavailable()

onEachMigrated(['SQLite', 'PostgreSQL'], 'events without a transaction', (testStore) => {
  let store: Store
  let root: string
  before(async () => {
    store = await openMigrated(testStore())
  })
  after(() => store.close())

  const open = (options: Partial<EventQueueOptions> = {}) => {
    root = randomBytes(20).toString('hex')
    const counts = { errors: 0, lost: 0 }
    const queue = openEventQueue({
      ...{ store, delayMs: never, retryMs: never, batchSize: 2, batchesPerTurn: 1, capacity: 100 },
      onError: () => counts.errors++,
      onLost: (count) => {
        counts.lost += count
      },
      ...options,
    })
    const add = (...uids: string[]) => uids.map((uid) => queue.add(() => eventIn(root, uid)))
    return { queue, counts, add }
  }
  const recorded = async () =>
    (await store.query(sql`select uid from ${recordedEvents} where root = ${root} order by id`)).flat()

  test('are recorded in their order when an unavailable store is available again', async () => {
    const { queue, counts, add } = open({ store: failingFirst(store, [unavailable(), unavailable()]) })
    add('a', 'b', 'c')
    await queue.flush()
    assert.equal(queue.waiting(), 3)
    await queue.flush()
    add('d')
    await queue.flush()
    assert.deepEqual(
      [await recorded(), queue.waiting(), counts],
      [['a', 'b', 'c', 'd'], 0, { errors: 2, lost: 0 }],
    )
    await queue.stop()
  })

  test('are inserted again by a timer after a failed attempt', async () => {
    const { promise: isRecorded, resolve } = Promise.withResolvers<void>()
    const failing = failingFirst(store, [unavailable(), unavailable()])
    const { queue, counts, add } = open({
      store: withWrite(failing, (write) => async (work, deadline) => {
        const value = await write(work, deadline)
        resolve()
        return value
      }),
      ...{ delayMs: 1, retryMs: 1 },
    })
    add('a')
    // The timers of the queue do not keep the process running.
    const alive = setInterval(() => {}, never)
    await isRecorded.finally(() => clearInterval(alive))
    assert.deepEqual([await recorded(), counts], [['a'], { errors: 2, lost: 0 }])
    await queue.stop()
  })

  for (const [state, afterCommit] of [
    ['unsealed', async () => {}],
    ['sealed', () => sealAll(store)],
  ] as const)
    test(`are recorded once if the response to the commit was lost (${state})`, async () => {
      const { queue, counts, add } = open({ store: failingFirst(store, [lostResponse], afterCommit) })
      add('a', 'b', 'c')
      await queue.flush()
      await queue.flush()
      assert.deepEqual([await recorded(), counts], [['a', 'b', 'c'], { errors: 1, lost: 0 }])
      await queue.stop()
    })

  test('are counted as lost if they cannot be made, cannot be stored, or are too many', async () => {
    const { queue, counts, add } = open({
      store: failingFirst(store, [undefined, new Error('a value that the store refuses')]),
      capacity: 4,
    })
    add('a')
    queue.add(() => {
      throw new Error('an event that cannot be made')
    })
    assert.deepEqual(add('c', 'd', 'e'), [true, true, false])
    await queue.flush()
    add('f')
    await queue.flush()
    assert.deepEqual([await recorded(), counts], [['a', 'f'], { errors: 2, lost: 4 }])
    await queue.stop()
  })

  test('count towards the capacity even after a failed insert', async () => {
    const { queue, counts, add } = open({ store: failingFirst(store, [unavailable()]), capacity: 3 })
    add('a', 'b', 'c')
    await queue.flush()
    assert.deepEqual(add('d'), [false])
    await queue.stop()
    assert.deepEqual([await recorded(), counts], [['a', 'b', 'c'], { errors: 1, lost: 1 }])
  })

  test('are inserted by a stop although two attempts fail, and counted as lost after three', async () => {
    const brief = open({ store: failingFirst(store, [unavailable(), unavailable()]), retryMs: 1 })
    brief.add('a', 'b', 'c')
    await brief.queue.stop()
    assert.deepEqual([await recorded(), brief.counts], [['a', 'b', 'c'], { errors: 2, lost: 0 }])
    const long = open({ store: failingFirst(store, Array(10).fill(unavailable())), retryMs: 1 })
    long.add('a', 'b', 'c')
    await long.queue.stop()
    assert.deepEqual([await recorded(), long.counts], [[], { errors: 3, lost: 3 }])
  })

  test('are inserted if they are added while the queue stops, and counted as lost afterwards', async () => {
    const { queue, counts, add } = open()
    add('a')
    const stopped = queue.stop()
    assert.deepEqual(add('b'), [true])
    await stopped
    assert.deepEqual(add('c', 'd'), [false, false])
    assert.deepEqual([await recorded(), queue.waiting(), counts], [['a', 'b'], 0, { errors: 0, lost: 2 }])
  })

  test('that were added before a flush are recorded when it returns, even if a turn was already running', async () => {
    const slow = withWrite(store, (write) => async (work, deadline) => {
      await sleep(5)
      return write(work, deadline)
    })
    const { queue, add } = open({ store: slow, delayMs: 1 })
    const uids = Array.from({ length: 10 }, (_, at) => `${at}`)
    add(...uids)
    await sleep(3)
    await queue.flush()
    assert.deepEqual(await recorded(), uids)
    await queue.stop()
  })
})
