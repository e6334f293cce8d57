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
  assert.equal(openMessageCounter()(body), 5)
})

test('counts messages that arrive byte by byte', () => {
  const count = openMessageCounter()
  let messages = 0
  for (const byte of body) messages = count(Buffer.of(byte))
  assert.equal(messages, 5)
})

test('counts a message when it begins', () => {
  const count = openMessageCounter()
  assert.equal(count(message(3).subarray(0, 4)), 1)
  assert.equal(count(message(3).subarray(4)), 1)
  assert.equal(count(Buffer.of(0)), 2)
})
