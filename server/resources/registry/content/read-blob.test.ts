import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { Code } from '../../../aip/code.ts'
import type { BlobStore } from '../../../blobs/blob-store.ts'
import { readBlob } from './read-blob.ts'

test('a blob whose storage stops in the middle is unavailable', async () => {
  const stream = () =>
    Readable.from(
      (function* () {
        yield Buffer.from('first')
        throw new Error('socket hang up')
      })(),
    )
  const blobs = { read: async () => ({ size: 10, stream }) } as unknown as BlobStore // nothing else is called
  const digest = `sha256:${'0'.repeat(64)}`
  await assert.rejects(readBlob({ open: async () => blobs }, digest, 100), { code: Code.UNAVAILABLE })
})
