import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Digest } from '../blobs/digest.ts'
import { newUploadId, onEachBlobDriver } from '../testing/blob-drivers.ts'
import { openLostBlobs } from './lost-blobs.ts'

async function push(blobs: BlobStore, content: string): Promise<Digest> {
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}` as Digest
  const body = Readable.from([Buffer.from(content)], { objectMode: false })
  const { upload } = await blobs.append(await blobs.begin(newUploadId()), body)
  await blobs.finish(upload, digest)
  return digest
}

onEachBlobDriver('a blob that the storage has lost', (storage) => {
  test('is no longer a redirect target after a read has noted the loss, and is found again after a push', async () => {
    const reported: unknown[] = []
    const lostBlobs = openLostBlobs(storage.blobs, Date.now, (error) => reported.push(error))
    const digest = await push(storage.blobs, 'layer')
    assert.equal(await lostBlobs.isStored(digest), true)
    await storage.blobs.delete(digest)
    lostBlobs.note(digest)
    assert.equal(await lostBlobs.isStored(digest), false)
    assert.equal(await lostBlobs.isLost(digest), true)
    assert.equal(reported.length, 1)
    await push(storage.blobs, 'layer')
    assert.equal(await lostBlobs.isStored(digest), true)
    assert.equal(await lostBlobs.isLost(digest), false)
  })
})
