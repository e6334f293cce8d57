import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { gatherBatches } from './batches.ts'

const kibibyte = 1024

/** A stream that counts the bytes that were taken from it. */
function countingBody(chunkBytes: number) {
  const counted = { bytes: 0 }
  const body = new Readable({
    highWaterMark: 64 * kibibyte,
    read() {
      counted.bytes += chunkBytes
      this.push(Buffer.alloc(chunkBytes))
    },
  })
  return { body, counted }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await setImmediate()
}

test('takes no more than a batch from the stream while nobody asks for the next one', async () => {
  const { body, counted } = countingBody(64 * kibibyte)
  const batches = gatherBatches(body)
  for (let taken = 1; taken <= 3; taken++) {
    const { value } = await batches.next()
    assert.equal(value?.bytes, 512 * kibibyte)
    await settle()
    // The stream itself holds two chunks more.
    assert.ok(counted.bytes <= (taken * 512 + 128) * kibibyte, `${counted.bytes} bytes`)
  }
  await batches.return()
  body.destroy()
})

test('limits the number of chunks in a batch', async () => {
  const { body } = countingBody(1)
  const batches = gatherBatches(body)
  const { value } = await batches.next()
  assert.equal(value?.chunks.length, 256)
  await batches.return()
  body.destroy()
})

test('yields what arrived before a failure, and then fails', async () => {
  const body = new PassThrough()
  const batches = gatherBatches(body)
  const first = batches.next()
  body.write('abc')
  await settle()
  body.destroy(new Error('reset'))
  assert.equal((await first).value?.bytes, 3)
  await assert.rejects(batches.next(), { code: 'interrupted' })
})

test('leaves the stream open and without listeners for data after an abort', async () => {
  const body = new PassThrough()
  const abort = new AbortController()
  const batches = gatherBatches(body, abort.signal)
  const first = batches.next()
  abort.abort(new Error('too slow'))
  await assert.rejects(first, { code: 'interrupted' })
  assert.equal(body.destroyed, false)
  assert.equal(body.listenerCount('data'), 0)
  body.destroy(new Error('a late error does not end the process'))
  await settle()
})
