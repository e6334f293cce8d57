import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMessageCounter } from './message-counter.ts'

const message = (size: number) => {
  const bytes = Buffer.alloc(5 + size, 0xff)
  bytes[0] = 0
  bytes.writeUInt32BE(size, 1)
  return bytes
}
const body = Buffer.concat([message(0), message(3), message(300), message(0), message(70_000)])

test('counts messages that arrive in one chunk', () => {
  const counter = openMessageCounter()
  counter.add(body)
  assert.equal(counter.begun, 5)
  assert.equal(counter.complete, 5)
})

test('counts messages that arrive byte by byte', () => {
  const counter = openMessageCounter()
  for (const byte of body) counter.add(Buffer.of(byte))
  assert.equal(counter.begun, 5)
  assert.equal(counter.complete, 5)
})

test('counts a message when it begins, and when it is complete', () => {
  const counter = openMessageCounter()
  const counts: [begun: number, complete: number][] = []
  for (const part of [
    message(3).subarray(0, 4),
    message(3).subarray(4, 7),
    message(3).subarray(7),
    Buffer.of(0),
  ]) {
    counter.add(part)
    counts.push([counter.begun, counter.complete])
  }
  assert.deepEqual(counts, [
    [1, 0],
    [1, 0],
    [1, 1],
    [2, 1],
  ])
})
