import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseQueues } from './choose-queues.ts'

const pool = { places: 8, reserved: 2, perOrganization: 4 }
const queuesOf = (root: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ subscription: `${root}/${at}`, root }))
const turnsOf = (root: string, count: number) => Array.from({ length: count }, () => ({ root }))
const chosen = (...options: Parameters<typeof chooseQueues>) => [...chooseQueues(...options).keys()]

test('an organization gets its first turn before others get their next one', () => {
  const found = [...queuesOf('a', 9), ...queuesOf('b', 9), ...queuesOf('c', 1)]
  assert.deepEqual(chosen(found, pool, []), ['a/0', 'b/0', 'c/0', 'a/1', 'b/1', 'a/2'])
  assert.deepEqual(chosen(found, pool, turnsOf('a', 4)), ['b/0', 'c/0'])
})

test('the reserved places are only for organizations without a turn', () => {
  const turns = [...turnsOf('a', 3), ...turnsOf('b', 3)]
  assert.deepEqual(chosen([...queuesOf('a', 9), ...queuesOf('b', 9)], pool, turns), [])
  const found = [...queuesOf('a', 9), ...queuesOf('c', 9), ...queuesOf('d', 9), ...queuesOf('e', 9)]
  assert.deepEqual(chosen(found, pool, turns), ['c/0', 'd/0'])
})

test('an organization alone gets at most its own limit', () => {
  assert.equal(chosen(queuesOf('a', 9), pool, []).length, 4)
  assert.deepEqual(chosen(queuesOf('a', 9), pool, turnsOf('a', 4)), [])
})

test('a queue that was found twice is chosen once', () => {
  assert.deepEqual(chosen([...queuesOf('a', 2), ...queuesOf('a', 2)], pool, []), ['a/0', 'a/1'])
})
