import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pooled } from './random.ts'

test('a pool returns no byte twice, and serves requests that are larger than the pool', () => {
  let calls = 0
  let next = 0
  const counting = (size: number) => {
    calls++
    const bytes = Buffer.alloc(size)
    for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32BE(next++, at)
    return bytes
  }
  const random = pooled(counting)
  const seen = new Set<number>()
  for (let count = 0; count < 3000; count++) seen.add(random(4).readUInt32BE())
  assert.equal(seen.size, 3000)
  assert.equal(calls, 3)
  assert.equal(random(5000).length, 5000)
})
