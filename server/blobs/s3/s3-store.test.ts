// Behaviour that only the driver for S3 has. conformance.test.ts has the rest.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { newUploadId } from '../../testing/blob-drivers.ts'
import { partBytes, type S3Server, startS3Server } from '../../testing/s3-server.ts'
import type { BlobStore, Upload } from '../blob-store.ts'
import { type Digest, parseDigest } from '../digest.ts'
import { bucketUrlOf, makeClient } from './client.ts'
import { makeExchange } from './exchange.ts'
import { makeMultipart } from './multipart.ts'
import { makeObjects } from './objects.ts'
import { defaultLimits, type S3Options, type StaticCredentials } from './s3-options.ts'
import { openS3Store } from './s3-store.ts'

const mebibyte = 1024 * 1024
const fifth = partBytes / 5

function digestOf(bytes: Buffer): Digest {
  const digest = parseDigest(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
  assert.ok(digest)
  return digest
}

async function push(blobs: BlobStore, content: Buffer): Promise<number> {
  const body = Readable.from([content], { objectMode: false })
  const { upload, failure } = await blobs.append(await blobs.begin(newUploadId()), body)
  assert.ifError(failure)
  return blobs.finish(upload, digestOf(content))
}

const readAll = async (blobs: BlobStore, digest: Digest) => buffer((await blobs.read(digest)).stream())

/** Two different parts with the same MD5 digest (X. Wang and H. Yu, 2004), which S3 uses as the ETag. */
function collidingParts(bytes: number): [Buffer, Buffer] {
  const first = Buffer.alloc(bytes)
  first.write(
    'd131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a' +
      '085125e8f7cdc99fd91dbdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0' +
      'e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70',
    'hex',
  )
  const second = Buffer.from(first)
  for (const at of [19, 45, 59, 83, 109, 123]) second[at] = (second[at] ?? 0) ^ 0x80
  return [first, second]
}

/** Answers some requests itself and passes the others on to an S3 server. */
type Proxy = {
  url: string
  /** The method and path (`line`) and the headers of each request that arrived. */
  seen: { line: string; headers: IncomingMessage['headers'] }[]
  /** Returns true if it has answered. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>
  close(): void
}

async function startProxy(target: string): Promise<Proxy> {
  const server: Server = createServer(async (incoming, outgoing) => {
    proxy.seen.push({ line: `${incoming.method} ${incoming.url}`, headers: incoming.headers })
    if (await proxy.intercept(incoming, outgoing)) return
    // The Host header stays that of the proxy, because the client has signed it.
    const options = { method: incoming.method, headers: incoming.headers }
    const passed = request(new URL(incoming.url ?? '', target), options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
      outgoing.on('close', () => answer.destroy())
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The server listens on TCP, so its address is not a string.
  const { port } = server.address() as AddressInfo
  const proxy: Proxy = {
    url: `http://127.0.0.1:${port}`,
    seen: [],
    intercept: () => false,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  return proxy
}

describe('a blob store in S3', () => {
  let server: S3Server
  let proxy: Proxy
  let options: S3Options
  before(async () => {
    server = await startS3Server()
    proxy = await startProxy(server.options.endpoint ?? '')
    options = { ...server.options, endpoint: proxy.url }
  })
  after(async () => {
    proxy.close()
    await server.stop()
  })

  async function withStore(changes: Partial<S3Options>, use: (blobs: BlobStore) => Promise<void>) {
    const blobs = await openS3Store({ ...options, ...changes })
    proxy.seen = []
    try {
      await use(blobs)
    } finally {
      proxy.intercept = () => false
      await blobs.close()
    }
  }

  const fail = (response: ServerResponse, status: number, code: string) => {
    response.writeHead(status, { 'content-type': 'application/xml' })
    response.end(`<Error><Code>${code}</Code><Message>no &lt;luck&gt;</Message></Error>`)
    return true
  }

  test('pushes a small blob with a few requests and no checksum headers', () =>
    withStore({}, async (blobs) => {
      await push(blobs, randomBytes(1000))
      const lines = proxy.seen.map(({ line }) =>
        line.replace(/[0-9a-f]{32,}/g, '…').replace(/\/..\//, '/../'),
      )
      assert.deepEqual(lines, [
        'PUT /stemma/uploads/…/tail-…',
        'PUT /stemma/blobs/sha256/../…',
        'DELETE /stemma/uploads/…/tail-…',
      ])
      const names = proxy.seen.flatMap(({ headers }) => Object.keys(headers))
      assert.deepEqual(
        names.filter((name) => /checksum|trailer|md5|sdk/.test(name)),
        [],
      )
    }))

  test('keeps its objects below the prefix', () =>
    withStore({ prefix: 'registry/content' }, async (blobs) => {
      const content = randomBytes(6 * fifth)
      await push(blobs, content)
      assert.ok(proxy.seen.every(({ line }) => /\/stemma(\/registry\/content\/|\?)/.test(line)))
      assert.deepEqual(await readAll(blobs, digestOf(content)), content)
      const listed = await Array.fromAsync(blobs.list())
      assert.deepEqual(
        listed.map(({ digest }) => digest),
        [digestOf(content)],
      )
    }))

  test('copies an object in parts if it is too large for one request', () =>
    withStore(
      { limits: { ...options.limits, copyBytes: fifth, copyPartBytes: 3 * fifth } },
      async (blobs) => {
        const content = randomBytes(7 * fifth + 11)
        await push(blobs, content)
        const copied = proxy.seen.filter(({ headers }) => headers['x-amz-copy-source-range'] !== undefined)
        assert.deepEqual(
          copied.map(({ headers }) => headers['x-amz-copy-source-range']).sort(), // sent at the same time
          [
            `bytes=0-${3 * fifth - 1}`,
            `bytes=${3 * fifth}-${6 * fifth - 1}`,
            `bytes=${6 * fifth}-${7 * fifth + 10}`,
          ],
        )
        assert.ok((await readAll(blobs, digestOf(content))).equals(content))
      },
    ))

  test('notices that a copy in parts was completed although the response was lost', () =>
    withStore(
      { limits: { ...options.limits, attempts: 2, copyBytes: fifth, copyPartBytes: partBytes } },
      async (blobs) => {
        const content = randomBytes(7 * fifth)
        let completions = 0
        proxy.intercept = async (incoming, response) => {
          const isCompletion = incoming.method === 'POST' && incoming.url?.includes('uploadId=')
          if (!isCompletion || !incoming.url?.includes('/blobs/')) return false
          // Some servers, but not the test server, forget an upload when its object is assembled, and then answer this.
          if (++completions > 1) return fail(response, 404, 'NoSuchUpload')
          const target = new URL(incoming.url, server.options.endpoint)
          const passed = request(target, { method: 'POST', headers: incoming.headers })
          incoming.pipe(passed)
          const [answer] = (await once(passed, 'response')) as [IncomingMessage]
          await buffer(answer)
          response.destroy()
          return true
        }
        assert.equal(await push(blobs, content), content.length)
        assert.equal(completions, 2)
        assert.ok((await readAll(blobs, digestOf(content))).equals(content))
      },
    ))

  test('does not finish a copy in parts that S3 has lost', () =>
    withStore(
      { limits: { ...options.limits, copyBytes: fifth, copyPartBytes: partBytes } },
      async (blobs) => {
        const content = randomBytes(7 * fifth)
        proxy.intercept = (incoming, response) =>
          /\/blobs\/.*uploadId=/.test(incoming.url ?? '') &&
          incoming.method === 'POST' &&
          fail(response, 404, 'NoSuchUpload')
        await assert.rejects(push(blobs, content), { code: 'not-found' })
        assert.equal(await blobs.size(digestOf(content)), undefined)
      },
    ))

  test('aborts a copy in parts when the upload is discarded, if the copy could not be aborted before', () =>
    withStore({ limits: { ...options.limits, copyBytes: 1000, copyPartBytes: 1000 } }, async (blobs) => {
      const aborted: string[] = []
      let isDown = true
      proxy.intercept = (incoming, response) => {
        const { method, url = '', headers } = incoming
        const uploadId = new URL(url, proxy.url).searchParams.get('uploadId')
        if (method === 'DELETE' && url.includes('/blobs/') && uploadId !== null) {
          if (isDown) return fail(response, 503, 'SlowDown')
          aborted.push(uploadId)
          response.writeHead(204).end()
          return true
        }
        if (headers['x-amz-copy-source-range'] === undefined) return false
        copyIds.add(uploadId ?? '')
        return fail(response, 503, 'SlowDown')
      }
      const copyIds = new Set<string>()
      const content = randomBytes(3000)
      const { upload } = await blobs.append(await blobs.begin(newUploadId()), Readable.from([content]))
      await assert.rejects(blobs.finish(upload, digestOf(content)), /SlowDown/)
      isDown = false
      await blobs.discard(upload)
      assert.equal(copyIds.size, 1)
      assert.deepEqual(aborted, [...copyIds])
      assert.ok(
        (await Array.fromAsync(blobs.abandoned(Date.now() + 60_000))).every(({ id }) => id !== upload.id),
      )
    }))

  test('copies no further parts after one has failed', () =>
    withStore({ limits: { ...options.limits, copyBytes: 1000, copyPartBytes: 1000 } }, async (blobs) => {
      const { promise: failed, resolve: reportFailure } = Promise.withResolvers<void>()
      let copies = 0
      proxy.intercept = async (incoming, response) => {
        if (incoming.headers['x-amz-copy-source-range'] === undefined) return false
        copies++
        if (incoming.url?.includes('partNumber=1&')) {
          response.on('finish', reportFailure)
          return fail(response, 403, 'AccessDenied')
        }
        await failed
        await pause(10) // the client reads the failure
        response.end('<CopyPartResult><ETag>"part"</ETag></CopyPartResult>')
        return true
      }
      await assert.rejects(push(blobs, randomBytes(40_000)), /AccessDenied/)
      assert.ok(copies < 40, `${copies} of 40 parts were copied`)
    }))

  test('makes URLs that are valid without credentials', () =>
    withStore({ redirectSeconds: 60 }, async (blobs) => {
      const content = randomBytes(1000)
      await push(blobs, content)
      const url = await blobs.redirectUrl?.(digestOf(content))
      const response = await fetch(url ?? '')
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), content)
      const forged = await fetch(url?.replace('X-Amz-Expires=60', 'X-Amz-Expires=600') ?? '')
      assert.equal(forged.status, 403)
      await forged.arrayBuffer()
    }))

  test('makes no URLs unless redirectSeconds is set', () =>
    withStore({}, async (blobs) => assert.equal(blobs.redirectUrl, undefined)))

  test('repeats requests that failed on the way or in S3', () =>
    withStore({ limits: { ...options.limits, attempts: 3 } }, async (blobs) => {
      const failures = new Map<string, number>()
      proxy.intercept = (incoming, response) => {
        const line = `${incoming.method} ${incoming.url}`
        const count = (failures.get(line) ?? 0) + 1
        failures.set(line, count)
        if (count > 2) return false
        if (count === 1) incoming.destroy()
        else incoming.resume().on('end', () => fail(response, 503, 'SlowDown'))
        return true
      }
      const content = randomBytes(6 * fifth)
      await push(blobs, content)
      assert.ok((await readAll(blobs, digestOf(content))).equals(content))
      assert.ok([...failures.values()].every((count) => count === 3))
    }))

  test('gives up after some tries, and says why', () =>
    withStore({}, async (blobs) => {
      proxy.intercept = (incoming, response) => {
        incoming.resume()
        return fail(response, 503, 'SlowDown')
      }
      const begun = await blobs.begin(newUploadId())
      const { upload, failure } = await blobs.append(begun, Readable.from([Buffer.from('content')]))
      assert.equal(failure?.code, 'unavailable')
      assert.match(failure?.message ?? '', /503 SlowDown/)
      assert.equal(upload.size, 0)
      assert.equal(proxy.seen.length, 2)
      await assert.rejects(Array.fromAsync(blobs.list()), { code: 'unavailable' })
      await assert.rejects(Array.fromAsync(blobs.abandoned(0)), { code: 'unavailable' })
      proxy.intercept = () => false
      const again = await blobs.append(upload, Readable.from([Buffer.from('content')]))
      assert.equal(await blobs.finish(again.upload, digestOf(Buffer.from('content'))), 7)
    }))

  test('does not repeat a deletion after its signal has aborted', () =>
    withStore({}, async (blobs) => {
      const content = randomBytes(100)
      await push(blobs, content)
      const deletion = new AbortController()
      let tries = 0
      proxy.intercept = (incoming, response) => {
        tries++
        incoming.resume()
        response.on('finish', () => deletion.abort())
        return fail(response, 503, 'SlowDown')
      }
      await assert.rejects(blobs.delete(digestOf(content), deletion.signal), { code: 'unavailable' })
      assert.equal(tries, 1)
      proxy.intercept = () => false
      assert.ok((await readAll(blobs, digestOf(content))).equals(content))
    }))

  test('keeps the parts that S3 has confirmed when S3 fails', () =>
    withStore({}, async (blobs) => {
      const content = randomBytes(17 * fifth)
      proxy.intercept = (incoming, response) => {
        if (!incoming.url?.includes('partNumber=3')) return false
        incoming.resume()
        return fail(response, 500, 'InternalError')
      }
      const begun = await blobs.begin(newUploadId())
      const body = Readable.from([content], { objectMode: false })
      const { upload, failure } = await blobs.append(begun, body)
      assert.equal(failure?.code, 'unavailable')
      assert.equal(upload.size, 10 * fifth)
      proxy.intercept = () => false
      const rest = Readable.from([content.subarray(upload.size)], { objectMode: false })
      const whole = await blobs.append(upload, rest, { offset: upload.size })
      assert.equal(await blobs.finish(whole.upload, digestOf(content)), content.length)
      assert.ok((await readAll(blobs, digestOf(content))).equals(content))
    }))

  test('refuses an upload in many small chunks, since each chunk rewrites the bytes after the last full part', () =>
    withStore({ limits: { ...options.limits, maxTailWrites: 10 } }, async (blobs) => {
      let upload = await blobs.begin(newUploadId())
      for (let chunk = 0; chunk < 10; chunk++)
        upload = (await blobs.append(upload, Readable.from([Buffer.from('x')]))).upload
      await assert.rejects(blobs.append(upload, Readable.from([Buffer.from('x')])), { code: 'small-chunks' })
      assert.equal(await blobs.finish(upload, digestOf(Buffer.from('x'.repeat(10)))), 10)
    }))

  test('counts small chunks anew when a part is full', () =>
    withStore({ limits: { ...options.limits, maxTailWrites: 10 } }, async (blobs) => {
      const part = Buffer.alloc(partBytes, 'x')
      const few = Array.from({ length: 6 }, () => Buffer.from('x'))
      let upload = await blobs.begin(newUploadId())
      for (const chunk of [...few, part, ...few])
        upload = (await blobs.append(upload, Readable.from([chunk]))).upload
      const content = Buffer.concat([...few, part, ...few])
      assert.equal(await blobs.finish(upload, digestOf(content)), content.length)
    }))

  test('fails if a response with status 200 contains an error', () =>
    withStore({}, async (blobs) => {
      proxy.intercept = (incoming, response) => {
        if (incoming.headers['x-amz-copy-source'] === undefined) return false
        response.writeHead(200).end('<?xml version="1.0"?>\n  <Error><Code>InternalError</Code></Error>')
        return true
      }
      const content = randomBytes(100)
      const { upload } = await blobs.append(await blobs.begin(newUploadId()), Readable.from([content]))
      await assert.rejects(blobs.finish(upload, digestOf(content)), { code: 'unavailable' })
      proxy.intercept = () => false
      assert.equal(await blobs.finish(upload, digestOf(content)), 100)
    }))

  test('notices that a response is shorter than announced', () =>
    withStore({}, async (blobs) => {
      const content = randomBytes(mebibyte)
      await push(blobs, content)
      proxy.intercept = (_incoming, response) => {
        response.writeHead(200, { 'content-length': String(content.length) })
        response.write(content.subarray(0, 1000), () => response.destroy())
        return true
      }
      const sending = (await blobs.read(digestOf(content))).sendTo(new PassThrough().resume())
      await assert.rejects(sending, { code: 'unavailable' })
    }))

  test('blobs that are read slowly do not keep pushes and other reads waiting', () =>
    withStore({ limits: { ...options.limits, maxSockets: 2 } }, async (blobs) => {
      const content = randomBytes(mebibyte)
      await push(blobs, content)
      const unread = await Promise.all(Array.from({ length: 5 }, () => blobs.read(digestOf(content))))
      await push(blobs, randomBytes(6 * fifth))
      assert.ok((await readAll(blobs, digestOf(content))).equals(content))
      for (const read of unread) await read.close()
    }))

  test('a request does not wait for ever until others end', () =>
    withStore({ limits: { ...options.limits, maxSockets: 1, maxWaitMs: 20 } }, async (blobs) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      proxy.intercept = async () => {
        arrive()
        await released
        return false
      }
      const digest = digestOf(Buffer.from('a'))
      const first = blobs.size(digest)
      await arrived
      const body = Readable.from([Buffer.from('content')])
      const { failure } = await blobs.append(await blobs.begin(newUploadId()), body)
      assert.deepEqual(
        [failure?.code, failure?.message],
        ['unavailable', 'too many requests to the storage for content are running'],
      )
      await assert.rejects(blobs.size(digest), { code: 'unavailable' })
      release()
      assert.equal(await first, undefined)
      assert.equal(await blobs.size(digest), undefined)
      assert.equal(proxy.seen.length, 2)
    }))

  test('lists no objects below uploads/ that do not belong to an upload', () =>
    withStore({ prefix: 'foreign' }, async (blobs) => {
      const exchange = makeExchange(defaultLimits)
      // The options of the test server contain static credentials.
      const getCredentials = async () => options.credentials as StaticCredentials
      const client = makeClient(options, defaultLimits, exchange, getCredentials)
      const objects = makeObjects(client, options.bucket, 7)
      for (const name of ['README', 'Notes/2026', 'zz']) await objects.put(`foreign/uploads/${name}`, '')
      const { upload } = await blobs.append(
        await blobs.begin(newUploadId()),
        Readable.from([Buffer.from('x')]),
      )
      const listed = await Array.fromAsync(blobs.abandoned(Date.now() + 60_000))
      assert.deepEqual(
        listed.map(({ id }) => id),
        [upload.id],
      )
      exchange.close()
    }))

  test('reports why a response cannot be used', () =>
    withStore({}, async (blobs) => {
      proxy.intercept = (incoming, response) => {
        if (incoming.method !== 'POST') return false
        incoming.resume()
        response.end('<InitiateMultipartUploadResult/>')
        return true
      }
      const body = Readable.from([randomBytes(6 * fifth)], { objectMode: false })
      const { failure } = await blobs.append(await blobs.begin(newUploadId()), body)
      assert.equal(
        failure?.message,
        'the storage for content failed (the response of S3 contains no UploadId)',
      )
    }))

  test('ends requests that get no answer', () =>
    withStore({ limits: { ...options.limits, idleTimeoutMs: 50 } }, async (blobs) => {
      proxy.intercept = () => true
      const message = 'the storage for content failed (no answer within 50 ms)'
      await assert.rejects(blobs.size(digestOf(Buffer.from('a'))), { code: 'unavailable', message })
      assert.equal(proxy.seen.length, 2)
    }))

  test('aborts responses that stall, even after the reader has paused', () =>
    withStore({ limits: { ...options.limits, idleTimeoutMs: 50 } }, async (blobs) => {
      const content = randomBytes(mebibyte)
      proxy.intercept = (_incoming, response) => {
        response.writeHead(200, { 'content-length': String(content.length) })
        response.write(content.subarray(0, 500_000))
        return true
      }
      const reader = new PassThrough()
      const sending = (await blobs.read(digestOf(content))).sendTo(reader)
      await pause(200)
      reader.resume()
      await assert.rejects(sending, { code: 'unavailable' })
    }))

  test('aborts responses that stall while they are read as text', () =>
    withStore({ limits: { ...options.limits, idleTimeoutMs: 50 } }, async (blobs) => {
      proxy.intercept = (_incoming, response) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('<?x')
        return true
      }
      await assert.rejects(Array.fromAsync(blobs.list()), { code: 'unavailable' })
    }))

  test('reports a bucket that does not exist, and wrong keys', async () => {
    for (const wrong of [
      { bucket: 'missing' },
      { credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'wrong' } },
    ]) {
      await withStore(wrong, async (blobs) => {
        const message = /failed \((404 NoSuchBucket|403 SignatureDoesNotMatch)\)/
        await assert.rejects(blobs.check(), { code: 'unavailable', message })
        await assert.rejects(blobs.read(digestOf(Buffer.from('b'))), { code: 'unavailable' })
      })
    }
  })

  describe('with two stores that continue the same state of an upload', () => {
    const withTwoStores = (use: (a: BlobStore, b: BlobStore) => Promise<void>) =>
      withStore({}, (a) => withStore({}, (b) => use(a, b)))

    async function append(blobs: BlobStore, upload: Upload, content: Buffer): Promise<Upload> {
      const appended = await blobs.append(upload, Readable.from([content], { objectMode: false }))
      assert.ifError(appended.failure)
      return appended.upload
    }

    /**
     * Makes S3 fail to copy an object to the key of this digest, so that `finish` fails after it has
     * assembled the object.
     */
    const failCopy = (incoming: IncomingMessage, response: ServerResponse, digest: Digest) =>
      incoming.headers['x-amz-copy-source'] !== undefined &&
      incoming.url?.includes(digest.slice('sha256:'.length)) === true &&
      fail(response, 500, 'InternalError')

    const [first, second] = collidingParts(partBytes)
    const cases = [
      { what: 'an upload without parts', head: 0, x: randomBytes(1000), y: randomBytes(1000) },
      { what: 'the bytes after a part', head: partBytes + 7, x: randomBytes(1000), y: randomBytes(1000) },
      { what: 'a part that has the same ETag', head: partBytes, x: first, y: second },
    ]
    for (const { what, head, x, y } of cases) {
      test(`the hash of one is not used for the bytes of the other: ${what}`, () =>
        withTwoStores(async (a, b) => {
          const start = randomBytes(head)
          const whole = Buffer.concat([start, x])
          await push(a, whole)
          let upload = await a.begin(newUploadId())
          if (head > 0) upload = await append(a, upload, start)
          const byA = await append(a, upload, x)
          const byB = await append(b, upload, y)
          assert.notEqual(byB.state, byA.state)
          await assert.rejects(a.finish(byB, digestOf(whole)), { code: 'digest-mismatch' })
          assert.ok((await readAll(a, digestOf(whole))).equals(whole))
        }))
    }

    test('no bytes that one has stored are overwritten by the other', () =>
      withTwoStores(async (a, b) => {
        const [x, y] = [randomBytes(1000), randomBytes(1000)]
        const begun = await a.begin(newUploadId())
        const byA = await append(a, begun, x)
        await append(b, begun, y)
        assert.equal(await a.finish(byA, digestOf(x)), x.length)
        assert.ok((await readAll(a, digestOf(x))).equals(x))
      }))

    test('one does not use the object that the other has assembled from other parts', () =>
      withTwoStores(async (a, b) => {
        const [start, x, y] = [randomBytes(partBytes), randomBytes(1000), randomBytes(1000)]
        const upload = await append(a, await a.begin(newUploadId()), start)
        const byA = await append(a, upload, x)
        const byB = await append(b, upload, y)
        const [digest, other] = [x, y].map((end) => digestOf(Buffer.concat([start, end]))) as [Digest, Digest]
        proxy.intercept = (incoming, response) => failCopy(incoming, response, other)
        await assert.rejects(b.finish(byB, other), { code: 'unavailable' })
        // S3 answers this after `b` has completed the upload; the test server does not.
        proxy.intercept = (incoming, response) =>
          incoming.url?.includes('uploadId=') === true && fail(response, 404, 'NoSuchUpload')
        await assert.rejects(a.finish(byA, digest), { code: 'digest-mismatch' })
        assert.equal(await a.size(digest), undefined)
      }))

    test('the object that one is copying is not replaced by the other', () =>
      withTwoStores(async (a, b) => {
        const [x, y] = [randomBytes(partBytes + 1000), randomBytes(partBytes + 1000)]
        const begun = await a.begin(newUploadId())
        const byA = await append(a, begun, x)
        const byB = await append(b, begun, y)
        proxy.intercept = async (incoming) => {
          if (!incoming.url?.includes(digestOf(x).slice('sha256:'.length))) return false
          proxy.intercept = (otherIncoming, otherResponse) =>
            failCopy(otherIncoming, otherResponse, digestOf(y))
          await assert.rejects(b.finish(byB, digestOf(y)), { code: 'unavailable' })
          return false
        }
        await a.finish(byA, digestOf(x))
        assert.ok((await readAll(a, digestOf(x))).equals(x))
      }))
  })

  test('continues and finishes uploads of version 0.1, whose objects have no random names', () =>
    withStore({}, async (blobs) => {
      const { bucket, credentials, limits } = options
      const exchange = makeExchange(defaultLimits)
      // The options of the test server contain static credentials.
      const getCredentials = async () => credentials as StaticCredentials
      const client = makeClient(options, { ...defaultLimits, ...limits }, exchange, getCredentials)
      const part = randomBytes(partBytes)
      const [tail, more] = [randomBytes(1000), randomBytes(1000)]
      const bodyOf = (bytes: Buffer) => ({ bytes: bytes.length, open: () => Readable.from([bytes]) })
      for (const hasPart of [false, true]) {
        for (const isContinued of [false, true]) {
          const id = newUploadId()
          const etags: string[] = []
          let multipartId: string | undefined
          if (hasPart) {
            const multipart = makeMultipart(client, bucket)
            multipartId = await multipart.create(`uploads/${id}/data`)
            etags.push(await multipart.putPart(`uploads/${id}/data`, multipartId, 1, bodyOf(part)))
          }
          const objects = makeObjects(client, bucket, 7)
          for (const name of ['multipart', 'tail-1']) await objects.put(`uploads/${id}/${name}`, '')
          await objects.put(`uploads/${id}/tail-2`, bodyOf(tail))
          const state = JSON.stringify({ multipartId, etags, tail: { index: 2, size: 1000, writes: 2 } })
          let upload: Upload = { id, size: etags.length * part.length + 1000, state }
          assert.equal(await blobs.uploadSize(upload), upload.size)
          if (isContinued) upload = (await blobs.append(upload, Readable.from([more]))).upload
          const content = Buffer.concat([...(hasPart ? [part] : []), tail, ...(isContinued ? [more] : [])])
          assert.equal(await blobs.finish(upload, digestOf(content)), content.length)
          assert.ok((await readAll(blobs, digestOf(content))).equals(content))
          await blobs.discard({ id })
          assert.deepEqual(await Array.fromAsync(objects.list(`uploads/${id}/`)), [])
        }
      }
      exchange.close()
    }))

  test('shows no files in its spool folder, during an upload or after it', () =>
    withStore({}, async (blobs) => {
      const body = new PassThrough()
      const appending = blobs.append(await blobs.begin(newUploadId()), body)
      body.write(randomBytes(6 * fifth))
      await once(body, 'drain')
      assert.deepEqual(await readdir(options.spoolFolder), [])
      body.end()
      await appending
      assert.deepEqual(await readdir(options.spoolFolder), [])
    }))

  test('refuses prefixes and buckets with characters that S3 servers encode in different ways', async () => {
    await assert.rejects(openS3Store({ ...options, prefix: 'a b' }), TypeError)
    await assert.rejects(openS3Store({ ...options, bucket: 'a/b' }), TypeError)
  })

  describe('with web identity', () => {
    const hour = 3_600_000
    let now = Date.now()
    const exchanges: URLSearchParams[] = []
    let status = 200
    let sts: Server
    let identity: { roleArn: string; tokenFile: string; stsEndpoint: string }
    before(async () => {
      sts = createServer(async (incoming, response) => {
        exchanges.push(new URLSearchParams((await buffer(incoming)).toString()))
        const expiration = new Date(now + hour).toISOString()
        response
          .writeHead(status)
          .end(`<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>S3RVER</AccessKeyId>
          <SecretAccessKey>S3RVER</SecretAccessKey><SessionToken>session &amp; token</SessionToken>
          <Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
          </AssumeRoleWithWebIdentityResponse>`)
      }).listen(0, '127.0.0.1')
      await once(sts, 'listening')
      const tokenFile = join(options.spoolFolder, '..', 'token')
      // The server listens on TCP, so its address is not a string.
      const { port } = sts.address() as AddressInfo
      identity = { roleArn: 'arn:aws:iam::1:role/stemma', tokenFile, stsEndpoint: `http://127.0.0.1:${port}` }
    })
    after(() => {
      sts.close()
      sts.closeAllConnections()
    })

    test('exchanges the token for credentials, and again before they expire', async () => {
      await writeFile(identity.tokenFile, 'first token\n')
      const blobs = await openS3Store({ ...options, credentials: identity }, () => now)
      proxy.seen = []
      await Promise.all([blobs.check(), blobs.check()])
      assert.equal(exchanges.length, 1)
      assert.equal(exchanges[0]?.get('WebIdentityToken'), 'first token')
      assert.equal(exchanges[0]?.get('RoleArn'), identity.roleArn)
      assert.equal(proxy.seen[0]?.headers['x-amz-security-token'], 'session & token')
      await writeFile(identity.tokenFile, 'second token')
      now += hour - 6 * 60_000
      await blobs.check()
      assert.equal(exchanges.length, 1)
      now += 2 * 60_000
      await blobs.check()
      assert.equal(exchanges[1]?.get('WebIdentityToken'), 'second token')
      await blobs.close()
    })

    test('uses the old credentials until they expire if the exchange fails', async () => {
      status = 200
      const blobs = await openS3Store({ ...options, credentials: identity }, () => now)
      await blobs.check()
      status = 403
      now += hour - 10_000
      await blobs.check()
      now += 10_000
      await assert.rejects(blobs.check(), { code: 'unavailable' })
      status = 200
      await blobs.check()
      await blobs.close()
    })

    test('attempts a failed exchange again after 30 seconds, not with every request', async () => {
      const blobs = await openS3Store({ ...options, credentials: identity }, () => now)
      await blobs.check()
      status = 403
      now += hour - 4 * 60_000
      exchanges.length = 0
      for (let at = 0; at < 3; at++) await blobs.check()
      assert.equal(exchanges.length, 1)
      now += 30_000
      await blobs.check()
      assert.equal(exchanges.length, 2)
      status = 200
      now += 30_000
      for (let at = 0; at < 3; at++) await blobs.check()
      assert.equal(exchanges.length, 3)
      await blobs.close()
    })
  })
})

test('the bucket is in the path or in the host name', () => {
  const options = {
    bucket: 'blobs',
    region: 'eu-west-1',
    spoolFolder: '',
    credentials: { accessKeyId: '', secretAccessKey: '' },
  }
  assert.equal(bucketUrlOf(options), 'https://blobs.s3.eu-west-1.amazonaws.com')
  assert.equal(bucketUrlOf({ ...options, pathStyle: true }), 'https://s3.eu-west-1.amazonaws.com/blobs')
  assert.equal(bucketUrlOf({ ...options, endpoint: 'http://minio:9000' }), 'http://minio:9000/blobs')
  assert.equal(
    bucketUrlOf({ ...options, endpoint: 'http://minio:9000', pathStyle: false }),
    'http://blobs.minio:9000',
  )
})
