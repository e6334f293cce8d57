import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseChunks } from './release-chunks.ts'

test('frees chunks that own their memory, and leaves parts of larger buffers alone', () => {
  const whole = Buffer.from(new ArrayBuffer(4))
  const shared = Buffer.from(new ArrayBuffer(4))
  shared.fill('x')
  releaseChunks([whole, shared.subarray(0, 2), shared.subarray(2)])
  assert.equal(whole.buffer.byteLength, 0)
  assert.equal(shared.toString(), 'xxxx')
})
