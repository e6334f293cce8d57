// Blobs: how they are pushed, pulled, mounted and deleted.
import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseDigest, placeOf } from '../../server/blobs/digest.ts'
import { among, sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, imageOf, ociClient } from './oci-client.ts'

onEachStore('blobs of the registry', (engine) => {
  let platform: Platform
  let client: OciClient
  const captured = captureLog('error')
  before(async () => {
    platform = await startPlatform(engine, [], {}, captured.log)
    client = ociClient(platform.url, platform.owner.token)
  })
  after(() => platform.stop())

  const blobPath = (name: string, content: string, algorithm?: string) =>
    `/v2/${name}/blobs/${digestOf(content, algorithm)}`

  async function assertPulled(name: string, content: string, algorithm = 'sha256') {
    const response = await client.expect(200, 'GET', blobPath(name, content, algorithm))
    assert.equal(await response.text(), content)
    assert.equal(response.headers.get('docker-content-digest'), digestOf(content, algorithm))
    const head = await client.expect(200, 'HEAD', blobPath(name, content, algorithm))
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(content)))
  }

  test('are pushed in one request, also empty ones and ones with a sha512 digest', async () => {
    for (const content of ['one request', '']) {
      for (const algorithm of ['sha256', 'sha512']) {
        const { headers } = await client.pushBlob('acme/web', content, algorithm)
        assert.equal(headers.get('docker-content-digest'), digestOf(content, algorithm))
        assert.equal(headers.get('location'), blobPath('acme/web', content, algorithm))
        await assertPulled('acme/web', content, algorithm)
      }
    }
  })

  test('of more than 10 GiB are refused before their content is sent', async () => {
    const location = await client.begin('acme/web')
    const raw = await rawClient(platform.app.port)
    const head = [
      ...[`PATCH ${location} HTTP/1.1`, 'host: stemma.test', `content-length: ${10 * 2 ** 30 + 1}`],
      `authorization: Bearer ${platform.owner.token}`,
    ]
    raw.send(`${head.join('\r\n')}\r\n\r\n`)
    const { status, body } = await raw.response()
    assert.equal(status, 413)
    assert.match(String(body), /SIZE_INVALID.*at most 10737418240 bytes/)
    raw.close()
  })

  test('are pushed with POST and PUT, whichever algorithm the digest has', async () => {
    for (const algorithm of ['sha256', 'sha512']) {
      const location = await client.begin('acme/web')
      const content = `post and put ${algorithm}`
      const digest = digestOf(content, algorithm)
      await client.expect(201, 'PUT', `${location}?digest=${digest}`, { body: content })
      await assertPulled('acme/web', content, algorithm)
    }
  })

  test('are pushed in chunks, and a chunk out of order is refused without harm', async () => {
    const location = await client.begin('acme/web', '?digest-algorithm=sha512')
    const chunk = (range: string, body: string) => ({ body, headers: { 'content-range': range } })
    const first = await client.expect(202, 'PATCH', location, chunk('0-4', 'first'))
    assert.equal(first.headers.get('range'), '0-4')
    assert.equal(await client.errorOf('PATCH', location, chunk('9-14', 'second')), '416 RANGE_INVALID')
    assert.equal(await client.errorOf('PATCH', location, chunk('0-4', 'first')), '416 RANGE_INVALID')
    assert.equal(await client.errorOf('PATCH', location, chunk('bytes 5-9', 'x')), '416 RANGE_INVALID')
    assert.equal(await client.errorOf('PATCH', location, chunk('5-9', 'x')), '400 SIZE_INVALID')
    const state = await client.expect(204, 'GET', location)
    assert.equal(state.headers.get('range'), '0-4')
    const digest = digestOf('firstsecond', 'sha512')
    const put = `${location}?digest=${digest}`
    assert.equal(await client.errorOf('PUT', put, chunk('2-7', 'second')), '416 RANGE_INVALID')
    await client.expect(201, 'PUT', put, chunk('5-10', 'second'))
    await assertPulled('acme/web', 'firstsecond', 'sha512')
    assert.equal(await client.errorOf('GET', location), '404 BLOB_UPLOAD_UNKNOWN')
  })

  test('are pushed as a stream', async () => {
    const location = await client.begin('acme/web')
    const body = new ReadableStream({
      start(stream) {
        for (const part of ['str', 'ea', 'med']) stream.enqueue(Buffer.from(part))
        stream.close()
      },
    })
    // Node requires `duplex` for streams, and the types of fetch lack it.
    const init = { body, duplex: 'half' } as RequestInit
    const { headers } = await client.expect(202, 'PATCH', location, init)
    assert.equal(headers.get('range'), '0-7')
    await client.expect(201, 'PUT', `${location}?digest=${digestOf('streamed')}`)
    await assertPulled('acme/web', 'streamed')
  })

  test('are resumed after the client was disconnected', async () => {
    const content = 'resumed '.repeat(2 ** 17)
    const location = await client.begin('acme/web')
    const lastPosition = async () => {
      const { headers } = await client.expect(204, 'GET', location)
      return Number(headers.get('range')?.split('-')[1])
    }
    const raw = await rawClient(platform.app.port)
    const authorization = `authorization: Bearer ${platform.owner.token}`
    raw.send(
      `PATCH ${location} HTTP/1.1\r\nhost: x\r\n${authorization}\r\ncontent-length: ${content.length}\r\n\r\n`,
    )
    raw.send(content.slice(0, -10))
    while ((await lastPosition()) === 0) await nextTurn()
    raw.close()
    // The server refuses further chunks until it has stored the bytes that it received.
    for (let status = 0; status !== 202; await nextTurn()) {
      const first = (await lastPosition()) + 1
      const headers = { 'content-range': `${first}-${content.length - 1}` }
      status = (await client.send('PATCH', location, { body: content.slice(first), headers })).status
    }
    await client.expect(201, 'PUT', `${location}?digest=${digestOf(content)}`)
    await assertPulled('acme/web', content)
  })

  test('are not stored if their upload is cancelled or has another digest', async () => {
    const cancelled = await client.begin('acme/web')
    await client.expect(204, 'DELETE', cancelled)
    assert.equal(await client.errorOf('PATCH', cancelled, { body: 'x' }), '404 BLOB_UPLOAD_UNKNOWN')
    const location = await client.begin('acme/web')
    const wrong = `${location}?digest=${digestOf('right')}`
    assert.equal(await client.errorOf('PUT', location, { body: 'x' }), '400 DIGEST_INVALID')
    assert.equal(await client.errorOf('PUT', `${location}?digest=sha256:x`), '400 DIGEST_INVALID')
    assert.equal(await client.errorOf('PUT', wrong, { body: 'wrong' }), '400 DIGEST_INVALID')
    assert.equal(await client.errorOf('PUT', wrong, { body: 'right' }), '404 BLOB_UPLOAD_UNKNOWN')
    const post = `/v2/acme/web/blobs/uploads/?digest=${digestOf('right')}`
    assert.equal(await client.errorOf('POST', post, { body: 'wrong' }), '400 DIGEST_INVALID')
    assert.equal((await client.send('HEAD', blobPath('acme/web', 'right'))).status, 404)
  })

  test('leave no row for a digest that no upload claims any longer', async () => {
    const claim = (location: string, claimed: string) => `${location}?digest=${digestOf(claimed)}`
    const rowsOf = async (...contents: string[]) => {
      const digests = contents.map((content) => digestOf(content))
      const rows = await platform.store.query(sql`select digest from blobs where digest in ${among(digests)}`)
      return rows.map(([digest]) => contents[digests.indexOf(digest as string)]).sort()
    }
    const other = await client.begin('acme/web')
    const headers = { 'content-range': '5-9' }
    const outOfOrder = { body: 'later', headers }
    // This refusal keeps the upload, and with it the digest that was claimed for it.
    assert.equal(await client.errorOf('PUT', claim(other, 'shared'), outOfOrder), '416 RANGE_INVALID')
    const location = await client.begin('acme/web')
    for (const claimed of ['first', 'shared', 'second'])
      assert.equal(await client.errorOf('PUT', claim(location, claimed), outOfOrder), '416 RANGE_INVALID')
    assert.deepEqual(await rowsOf('first', 'shared', 'second'), ['second', 'shared'])
    assert.equal(await client.errorOf('PUT', claim(location, 'third'), { body: 'x' }), '400 DIGEST_INVALID')
    assert.deepEqual(await rowsOf('shared', 'second', 'third'), ['shared'])
    await client.expect(201, 'PUT', claim(other, 'shared'), { body: 'shared' })
    await assertPulled('acme/web', 'shared')
  })

  test('keep their row if the storage fails while it stores them, since it may have stored them', async () => {
    const send = {
      async PUT(content: string) {
        const location = await client.begin('acme/web')
        await client.expect(503, 'PUT', `${location}?digest=${digestOf(content)}`, { body: content })
        await client.expect(204, 'DELETE', location)
      },
      async POST(content: string) {
        const path = `/v2/acme/web/blobs/uploads/?digest=${digestOf(content)}`
        await client.expect(503, 'POST', path, { body: content })
      },
    }
    for (const [method, push] of Object.entries(send)) {
      const digest = parseDigest(digestOf(`not stored by ${method}`))
      assert.ok(digest)
      // The storage cannot replace a folder by a file.
      const place = join(platform.config.dataDir, 'content/blobs', placeOf(digest))
      await mkdir(place, { recursive: true })
      await push(`not stored by ${method}`)
      await rm(place, { recursive: true })
      const rows = await platform.store.query(sql`select size from blobs where digest = ${digest}`)
      assert.deepEqual(rows, [[0]], method)
    }
  })

  test('that the storage has lost are reported once, and repaired by a push', async () => {
    const content = 'lost'
    for (const name of ['acme/web', 'acme/api']) await client.pushBlob(name, content)
    const digest = parseDigest(digestOf(content))
    await rm(join(platform.config.dataDir, 'content/blobs', digest ? placeOf(digest) : ''))
    for (const name of ['acme/web', 'acme/api'])
      assert.equal(await client.errorOf('GET', blobPath(name, content)), '404 BLOB_UNKNOWN')
    const reports = captured.written.filter((line) => line.includes(`blob ${digestOf(content)} is missing`))
    assert.equal(reports.length, 1)
    // Like a client: asks whether the blob exists, tries to mount it from another repo, uploads it.
    await client.expect(404, 'HEAD', blobPath('acme/web', content))
    await client.expect(202, 'POST', `/v2/acme/tools/blobs/uploads/?mount=${digestOf(content)}&from=acme/web`)
    await client.pushBlob('acme/web', content)
    for (const name of ['acme/web', 'acme/api']) await assertPulled(name, content)
  })

  test('are pulled in ranges', async () => {
    await client.pushBlob('acme/web', '0123456789')
    const ranges = { '2-4': '234', '8-': '89', '-3': '789', '5-99': '56789' }
    for (const [range, content] of Object.entries(ranges)) {
      const headers = { range: `bytes=${range}` }
      const response = await client.expect(206, 'GET', blobPath('acme/web', '0123456789'), { headers })
      assert.equal(await response.text(), content)
      assert.match(response.headers.get('content-range') ?? '', /^bytes \d-\d\/10$/)
    }
    for (const range of ['10-', '5-4']) {
      const headers = { range: `bytes=${range}` }
      const path = blobPath('acme/web', '0123456789')
      assert.equal(await client.errorOf('GET', path, { headers }), '416 RANGE_INVALID')
    }
  })

  test('are mounted from another repo, which the request need not name', async () => {
    await client.pushBlob('acme/source', 'shared')
    const mount = (name: string, query: string) =>
      client.send('POST', `/v2/${name}/blobs/uploads/?mount=${digestOf('shared')}${query}`)
    assert.equal((await mount('acme/explicit', '&from=acme/source')).status, 201)
    assert.equal((await mount('acme/automatic', '')).status, 201)
    for (const name of ['acme/explicit', 'acme/automatic']) await assertPulled(name, 'shared')
    assert.equal((await mount('acme/other', '&from=acme/nothing')).status, 202)
    assert.equal((await mount('acme/other', '&from=nobody/nothing')).status, 202)
    assert.equal((await mount('acme/other', '&from=%00')).status, 202)
    assert.equal(await client.errorOf('GET', blobPath('acme/other', 'shared')), '404 BLOB_UNKNOWN')
  })

  test('are deleted from one repo only, and not while a manifest of it needs them', async () => {
    for (const name of ['acme/one', 'acme/two']) await client.pushBlob(name, 'common')
    await client.expect(202, 'DELETE', blobPath('acme/one', 'common'))
    assert.equal(await client.errorOf('GET', blobPath('acme/one', 'common')), '404 BLOB_UNKNOWN')
    assert.equal(await client.errorOf('DELETE', blobPath('acme/one', 'common')), '404 BLOB_UNKNOWN')
    await assertPulled('acme/two', 'common')
    const digest = await client.pushImage('acme/two', 'latest', 'common')
    assert.equal(await client.errorOf('DELETE', blobPath('acme/two', 'common')), '405 UNSUPPORTED')
    assert.equal(digest, digestOf(imageOf('common')))
    await client.expect(202, 'DELETE', `/v2/acme/two/manifests/${digest}`)
    await client.expect(202, 'DELETE', blobPath('acme/two', 'common'))
  })
})
