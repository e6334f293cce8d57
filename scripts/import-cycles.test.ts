import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCycles } from './import-cycles.ts'

const cyclesOf = (...edges: [file: string, target: string][]) =>
  findCycles(edges.map(([file, target]) => ({ file, target })))

test('a cycle is returned once, even if a file imports another one twice', () => {
  assert.deepEqual(cyclesOf(['a', 'b'], ['b', 'a'], ['b', 'a']), [['a', 'b', 'a']])
  assert.deepEqual(cyclesOf(['a', 'b'], ['a', 'b'], ['b', 'c'], ['c', 'b']), [['b', 'c', 'b']])
})

test('files that import the same file form no cycle', () => {
  assert.deepEqual(cyclesOf(['a', 'b'], ['a', 'c'], ['b', 'd'], ['c', 'd']), [])
})
