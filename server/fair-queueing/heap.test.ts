import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHeap } from './heap.ts'

test('a heap returns its items in the order of their numbers', () => {
  const heap = openHeap<{ number: number }>(({ number }) => number)
  // A permutation of 0 to 100: 37 has no common factor with 101. Each number is in the heap twice.
  const numbers = Array.from({ length: 101 }, (_, at) => (at * 37) % 101)
  const taken: (number | undefined)[] = []
  for (const number of numbers) {
    heap.add({ number })
    heap.add({ number })
  }
  for (let at = 0; at < 202; at++) taken.push(heap.takeLeast()?.number)
  assert.deepEqual(
    taken,
    [...numbers, ...numbers].sort((a, b) => a - b),
  )
  assert.equal(heap.takeLeast(), undefined)
})
