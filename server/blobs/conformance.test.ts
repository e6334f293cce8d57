// The behaviour that all drivers of the blob store have.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough, Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { newUploadId, onEachBlobDriver } from '../testing/blob-drivers.ts'
import { partBytes } from '../testing/s3-server.ts'
import { BlobError, type BlobErrorCode } from './blob-error.ts'
import type { Appended, BlobStore, ByteRange, Upload } from './blob-store.ts'
import { type Algorithm, type Digest, parseDigest } from './digest.ts'

const mebibyte = 1024 * 1024
/** A fifth of a part of an upload to the S3 server of the tests. */
const fifth = partBytes / 5

function digestOf(content: Buffer, algorithm: Algorithm = 'sha256'): Digest {
  const digest = parseDigest(`${algorithm}:${createHash(algorithm).update(content).digest('hex')}`)
  assert.ok(digest)
  return digest
}

/** A body that arrives in chunks like those of a socket. */
function bodyOf(content: Buffer): Readable {
  const chunks = []
  for (let at = 0; at < content.length; at += 65536) chunks.push(content.subarray(at, at + 65536))
  return Readable.from(chunks, { objectMode: false })
}

async function appendAll(
  blobs: BlobStore,
  upload: Upload,
  content: Buffer,
  offset?: number,
): Promise<Upload> {
  const appended = await blobs.append(upload, bodyOf(content), { offset })
  assert.ifError(appended.failure)
  return appended.upload
}

async function push(blobs: BlobStore, content: Buffer, digest = digestOf(content)): Promise<number> {
  return blobs.finish(await appendAll(blobs, await blobs.begin(newUploadId()), content), digest)
}

async function readAll(blobs: BlobStore, digest: Digest, range?: ByteRange): Promise<Buffer> {
  const content = await blobs.read(digest, range)
  const chunks: Buffer[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk))
      setImmediate().then(() => done())
    },
  })
  await content.sendTo(destination)
  const bytes = Buffer.concat(chunks)
  assert.equal(bytes.length, content.length)
  return bytes
}

/** `deepEqual` would take minutes to describe the difference of two large buffers. */
const assertSame = (actual: Buffer, expected: Buffer) =>
  assert.ok(actual.equals(expected), `${actual.length} bytes differ from ${expected.length} expected ones`)

const fails = (code: BlobErrorCode) => (error: unknown) => error instanceof BlobError && error.code === code

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(items)
}

onEachBlobDriver('a blob store', (storage) => {
  describe('pushing', () => {
    test('stores content that arrives in one request', async () => {
      const content = randomBytes(3 * mebibyte + 17)
      const digest = digestOf(content)
      assert.equal(await storage.blobs.size(digest), undefined)
      assert.equal(await push(storage.blobs, content), content.length)
      assert.equal(await storage.blobs.size(digest), content.length)
      assertSame(await readAll(storage.blobs, digest), content)
    })

    test('stores content that arrives in chunks of any size', async () => {
      const content = randomBytes(13 * fifth)
      let upload = await storage.blobs.begin(newUploadId())
      let offset = 0
      for (const end of [1, 1000, 70_000, partBytes, partBytes + 1, 12 * fifth, content.length]) {
        upload = await appendAll(storage.blobs, upload, content.subarray(offset, end), offset)
        assert.equal(upload.size, end)
        assert.equal(await storage.blobs.uploadSize(upload), end)
        offset = end
      }
      assert.equal(await storage.blobs.finish(upload, digestOf(content)), content.length)
      assertSame(await readAll(storage.blobs, digestOf(content)), content)
    })

    test('continues an upload after a restart', async () => {
      const content = randomBytes(12 * fifth)
      const first = await storage.blobs.begin(newUploadId())
      const half = await appendAll(storage.blobs, first, content.subarray(0, 6 * fifth))
      const reopened = await storage.reopen()
      assert.equal(await reopened.uploadSize(half), half.size)
      const whole = await appendAll(reopened, half, content.subarray(half.size), half.size)
      const again = await storage.reopen()
      assert.equal(await again.finish(whole, digestOf(content)), content.length)
      assertSame(await readAll(again, digestOf(content)), content)
    })

    test('stores content under sha512, whether `begin` was given the algorithm or not', async () => {
      for (const algorithm of ['sha512', undefined] as const) {
        const content = randomBytes(mebibyte)
        const begun = await storage.blobs.begin(newUploadId(), algorithm)
        const upload = await appendAll(storage.blobs, begun, content)
        const digest = digestOf(content, 'sha512')
        await storage.blobs.finish(upload, digest)
        assertSame(await readAll(storage.blobs, digest), content)
        assert.equal(await storage.blobs.size(digestOf(content)), undefined)
      }
    })

    test('stores the empty blob', async () => {
      const digest = digestOf(Buffer.alloc(0))
      await storage.blobs.finish(await storage.blobs.begin(newUploadId()), digest)
      assert.equal(await storage.blobs.size(digest), 0)
      assert.equal((await readAll(storage.blobs, digest)).length, 0)
      assert.equal((await buffer((await storage.blobs.read(digest)).stream())).length, 0)
      assert.equal(await push(storage.blobs, Buffer.alloc(0)), 0)
    })

    test('takes many uploads of the same content at the same time', async () => {
      const content = randomBytes(6 * fifth)
      const uploads = await Promise.all(
        Array.from({ length: 4 }, async () =>
          appendAll(storage.blobs, await storage.blobs.begin(newUploadId()), content),
        ),
      )
      const sizes = await Promise.all(
        uploads.map((upload) => storage.blobs.finish(upload, digestOf(content))),
      )
      assert.deepEqual(new Set(sizes), new Set([content.length]))
      assertSame(await readAll(storage.blobs, digestOf(content)), content)
      assert.equal(await push(storage.blobs, content), content.length)
    })

    test('forgets an upload that was finished', async () => {
      const content = randomBytes(1000)
      const upload = await appendAll(storage.blobs, await storage.blobs.begin(newUploadId()), content)
      await storage.blobs.finish(upload, digestOf(content))
      await assert.rejects(storage.blobs.finish(upload, digestOf(content)), fails('not-found'))
    })
  })

  describe('refusing', () => {
    test('refuses content that does not have the digest, and forgets the upload', async () => {
      const content = randomBytes(6 * fifth)
      const wrong = digestOf(randomBytes(8))
      for (const reopen of [false, true]) {
        const upload = await appendAll(storage.blobs, await storage.blobs.begin(newUploadId()), content)
        const blobs = reopen ? await storage.reopen() : storage.blobs
        await assert.rejects(blobs.finish(upload, wrong), fails('digest-mismatch'))
        await assert.rejects(blobs.finish(upload, digestOf(content)), fails('not-found'))
      }
      assert.equal(await storage.blobs.size(wrong), undefined)
      assert.equal(await storage.blobs.size(digestOf(content)), undefined)
    })

    test('refuses a chunk that is out of order, and takes the right one afterwards', async () => {
      const content = randomBytes(200_000)
      const begun = await storage.blobs.begin(newUploadId())
      const half = await appendAll(storage.blobs, begun, content.subarray(0, 100_000), 0)
      for (const offset of [0, 99_999, 100_001]) {
        const append = storage.blobs.append(half, bodyOf(content), { offset })
        await assert.rejects(append, fails('offset-mismatch'))
      }
      const whole = await appendAll(storage.blobs, half, content.subarray(100_000), 100_000)
      assert.equal(await storage.blobs.finish(whole, digestOf(content)), content.length)
    })

    test('refuses another append, or a finish, while an append is running', async () => {
      const begun = await storage.blobs.begin(newUploadId())
      const body = new PassThrough()
      const running = storage.blobs.append(begun, body)
      await assert.rejects(storage.blobs.append(begun, bodyOf(randomBytes(10))), fails('busy'))
      await assert.rejects(storage.blobs.finish(begun, digestOf(Buffer.from('a'))), fails('busy'))
      body.end('a')
      const { upload } = await running
      assert.equal(await storage.blobs.finish(upload, digestOf(Buffer.from('a'))), 1)
    })

    test('refuses content above the limit', async () => {
      const begun = await storage.blobs.begin(newUploadId())
      const { failure } = await storage.blobs.append(begun, bodyOf(randomBytes(2000)), { maxBytes: 1999 })
      assert.equal(failure?.code, 'too-large')
      const full = await storage.blobs.append(begun, bodyOf(randomBytes(1999)), { maxBytes: 1999 })
      assert.equal(full.failure, undefined)
    })

    test('refuses invalid upload ids', async () => {
      for (const id of ['', '..', '../../etc/passwd', 'a/b', 'A'.repeat(32), 'a'.repeat(65)]) {
        await assert.rejects(storage.blobs.begin(id), TypeError)
      }
    })
  })

  describe('failing bodies', () => {
    async function failMidway(content: Buffer, failing: (body: PassThrough, abort: AbortController) => void) {
      const begun = await storage.blobs.begin(newUploadId())
      const body = new PassThrough()
      const abort = new AbortController()
      const appending = storage.blobs.append(begun, body, { signal: abort.signal })
      await pipeline(bodyOf(content), body, { end: false })
      // The driver has taken the whole content when the stream is empty.
      while (body.readableLength > 0 || body.writableLength > 0) await setImmediate()
      failing(body, abort)
      return appending
    }

    async function finishRest({ upload, failure }: Appended, content: Buffer): Promise<void> {
      assert.equal(failure?.code, 'interrupted')
      assert.equal(await storage.blobs.uploadSize(upload), upload.size)
      const whole = await appendAll(storage.blobs, upload, content.subarray(upload.size), upload.size)
      assert.equal(await storage.blobs.finish(whole, digestOf(content)), content.length)
      assertSame(await readAll(storage.blobs, digestOf(content)), content)
    }

    const ways: Record<string, (body: PassThrough, abort: AbortController) => void> = {
      'the client disconnects': (body) => void body.destroy(new Error('aborted')),
      'the body is closed without an error': (body) => void body.destroy(),
      'the caller aborts': (_body, abort) => abort.abort(new Error('too slow')),
    }
    for (const [name, failing] of Object.entries(ways)) {
      test(`keeps what has arrived when ${name}`, async () => {
        const content = randomBytes(7 * fifth)
        const appended = await failMidway(content.subarray(0, 6 * fifth + 5), failing)
        assert.equal(appended.upload.size, 6 * fifth + 5)
        await finishRest(appended, content)
      })
    }

    test('reads nothing from a body that has already failed', async () => {
      const body = new PassThrough()
      body.on('error', () => {})
      body.destroy(new Error('aborted'))
      const begun = await storage.blobs.begin(newUploadId())
      const { upload, failure } = await storage.blobs.append(begun, body)
      assert.equal(failure?.code, 'interrupted')
      assert.equal(upload.size, 0)
    })
  })

  describe('reading', () => {
    test('reads ranges, and cuts them at the end', async () => {
      const content = randomBytes(2 * mebibyte)
      await push(storage.blobs, content)
      const size = content.length
      const ranges = [
        [0, 1],
        [1, 1],
        [500, 1499],
        [size - 1, size - 1],
        [mebibyte - 1, mebibyte + 1],
        [size - 10, size + 10],
        [0, size - 1],
      ] as const
      for (const [first, last] of ranges) {
        const expected = content.subarray(first, last + 1)
        assertSame(await readAll(storage.blobs, digestOf(content), { first, last }), expected)
        const streamed = await storage.blobs.read(digestOf(content), { first, last })
        assert.equal(streamed.size, size)
        assertSame(await buffer(streamed.stream()), expected)
      }
    })

    test('refuses a range after the end', async () => {
      const content = randomBytes(100)
      await push(storage.blobs, content)
      const read = storage.blobs.read(digestOf(content), { first: 100, last: 200 })
      await assert.rejects(read, fails('range'))
    })

    test('says that a blob does not exist', async () => {
      await assert.rejects(storage.blobs.read(digestOf(randomBytes(9))), fails('not-found'))
    })

    test('stops when the reader is gone', async () => {
      const content = randomBytes(4 * mebibyte)
      await push(storage.blobs, content)
      for (const stop of ['destroy', 'abort']) {
        const reader = new PassThrough()
        const abort = new AbortController()
        const sending = (await storage.blobs.read(digestOf(content))).sendTo(reader, abort.signal)
        await once(reader, 'readable')
        if (stop === 'destroy') reader.destroy()
        else abort.abort()
        await assert.rejects(sending, fails('interrupted'))
      }
    })

    test('reads no more content than its reader takes, and stops when the reader is gone', async () => {
      const content = randomBytes(8 * mebibyte)
      await push(storage.blobs, content)
      const started = Promise.withResolvers<void>()
      const reader = new Writable({ write: () => started.resolve() }) // never asks for more
      const sending = (await storage.blobs.read(digestOf(content))).sendTo(reader)
      await started.promise
      for (let turn = 0; turn < 100; turn++) await setImmediate()
      assert.ok(reader.writableLength <= mebibyte, `${reader.writableLength} bytes wait for the reader`)
      reader.destroy()
      await assert.rejects(sending, fails('interrupted'))
    })

    test('closes content that nobody reads', async () => {
      const content = randomBytes(1000)
      await push(storage.blobs, content)
      await (await storage.blobs.read(digestOf(content))).close()
    })
  })

  describe('deleting and listing', () => {
    test('deletes a blob, also twice', async () => {
      const content = randomBytes(100)
      await push(storage.blobs, content)
      await storage.blobs.delete(digestOf(content))
      assert.equal(await storage.blobs.size(digestOf(content)), undefined)
      await storage.blobs.delete(digestOf(content))
      await push(storage.blobs, content)
      assertSame(await readAll(storage.blobs, digestOf(content)), content)
    })

    test('does not delete after the signal has aborted', async () => {
      const content = randomBytes(100)
      await push(storage.blobs, content)
      await assert.rejects(storage.blobs.delete(digestOf(content), AbortSignal.abort()))
      assertSame(await readAll(storage.blobs, digestOf(content)), content)
    })

    test('lists blobs with their sizes in the order of digests', async () => {
      const contents = Array.from({ length: 20 }, (_, index) => randomBytes(index + 1))
      for (const content of contents) await push(storage.blobs, content)
      const sha512 = digestOf(contents[0] as Buffer, 'sha512')
      await push(storage.blobs, contents[0] as Buffer, sha512)
      const listed = await collect(storage.blobs.list())
      const digests = listed.map(({ digest }) => digest)
      assert.deepEqual(digests, [...digests].sort())
      assert.ok(digests.includes(sha512))
      for (const content of contents) {
        const found = listed.find(({ digest }) => digest === digestOf(content))
        assert.equal(found?.size, content.length)
        assert.ok(Math.abs(found.modifiedAt - Date.now()) < 3_600_000)
      }
    })

    test('discards an upload, also twice, and without its state', async () => {
      const content = randomBytes(6 * fifth)
      for (const withState of [true, false]) {
        const upload = await appendAll(storage.blobs, await storage.blobs.begin(newUploadId()), content)
        const discarded = withState ? upload : { id: upload.id }
        await storage.blobs.discard(discarded)
        await storage.blobs.discard(discarded)
        await assert.rejects(storage.blobs.finish(upload, digestOf(content)), fails('not-found'))
        const left = await collect(storage.blobs.abandoned(Number.MAX_SAFE_INTEGER))
        assert.ok(!left.some(({ id }) => id === upload.id))
      }
    })

    test('lists uploads to which nothing was written since a given time, but none that was finished', async () => {
      const content = randomBytes(6 * fifth)
      const open = await appendAll(storage.blobs, await storage.blobs.begin(newUploadId()), content)
      const small = await appendAll(
        storage.blobs,
        await storage.blobs.begin(newUploadId()),
        content.subarray(0, 1),
      )
      const finished = await appendAll(storage.blobs, await storage.blobs.begin(newUploadId()), content)
      await storage.blobs.finish(finished, digestOf(content))
      const abandoned = await collect(storage.blobs.abandoned(Date.now() + 3_600_000))
      const ids = abandoned.map(({ id }) => id)
      assert.ok(ids.includes(open.id) && ids.includes(small.id))
      assert.ok(!ids.includes(finished.id))
      assert.equal(new Set(ids).size, ids.length)
      const old = await collect(storage.blobs.abandoned(Date.now() - 3_600_000))
      assert.deepEqual(old, [])
    })

    test('passes its own check', () => storage.blobs.check())
  })
})
