// Limits of the registry: open uploads, running uploads and pulls, slow bodies, and refusals before the body.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, imageOf, ociClient } from './oci-client.ts'

onEachStore('limits of the registry', (engine) => {
  let platform: Platform
  let client: OciClient
  const minimumUploadRate = { bytes: 100, periodMs: 60_000 }
  before(async () => {
    const limits = ['--max-uploads', 'caller=20,organization=30', '--max-upload-bodies', 'caller=2,total=3']
    const pulls = ['--max-pulls', 'network=2,total=40', '--trusted-proxies', '127.0.0.1']
    platform = await startPlatform(engine, [...limits, ...pulls], { minimumUploadRate })
    client = ociClient(platform.url, platform.owner.token)
  })
  after(() => platform.stop())

  const cancelAll = () =>
    platform.store.write(function* () {
      yield sql`delete from uploads`
    })

  /** Sends a request of which the body, if any, is sent separately. */
  async function sendHead(method: string, path: string, headers: string[], token = platform.owner.token) {
    const raw = await rawClient(platform.app.port)
    const lines = [`${method} ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${token}`, ...headers]
    raw.send(`${lines.join('\r\n')}\r\n\r\n`)
    return raw
  }
  const isHeld = async (location: string) => {
    const rows = await platform.store.query(
      sql`select lease from uploads where id = ${location.split('/').at(-1) ?? ''}`,
    )
    return rows[0]?.[0] !== null
  }

  test('a caller who begins too many uploads is refused, and others can still begin some', async () => {
    for (let count = 0; count < 20; count++) await client.begin('acme/web')
    const response = await client.send('POST', '/v2/acme/web/blobs/uploads/')
    assert.deepEqual([response.status, response.headers.get('retry-after')], [429, '60'])
    assert.match(await response.text(), /TOOMANYREQUESTS.*you have 20 unfinished uploads/)
    const other = await platform.addIdentity(platform.owner.organization, 'owner')
    const otherClient = ociClient(platform.url, other.token)
    for (let count = 0; count < 10; count++) await otherClient.begin('acme/web')
    assert.equal(await otherClient.errorOf('POST', '/v2/acme/web/blobs/uploads/'), '429 TOOMANYREQUESTS')
    await cancelAll()
    await client.pushBlob('acme/web', 'room again')
  })

  test('a body that stalls is ended, and what has arrived is kept', async () => {
    const location = await client.begin('acme/web')
    minimumUploadRate.periodMs = 50
    const raw = await sendHead('PATCH', location, ['content-length: 1000'])
    raw.send('x'.repeat(30))
    const { status, body } = await raw.response()
    minimumUploadRate.periodMs = 60_000
    assert.equal(status, 408)
    assert.match(String(body), /BLOB_UPLOAD_INVALID.*fewer than 100 bytes arrived.*the upload has 30 bytes/)
    raw.close()
    const rest = { body: 'y'.repeat(970), headers: { 'content-range': '30-999' } }
    await client.expect(202, 'PATCH', location, rest)
    const content = 'x'.repeat(30) + 'y'.repeat(970)
    await client.expect(201, 'PUT', `${location}?digest=${digestOf(content)}`)
  })

  test('a body that arrives slowly in many small chunks is ended', async () => {
    const location = await client.begin('acme/web')
    Object.assign(minimumUploadRate, { bytes: 64 * 1024, periodMs: 500 })
    const raw = await sendHead('PATCH', location, ['transfer-encoding: chunked'])
    let isAnswered = false
    const answered = raw.response().finally(() => {
      isAnswered = true
    })
    // More chunks than a batch of the storage holds (256), so that the server pauses the body.
    while (!isAnswered) {
      raw.send('1\r\nx\r\n'.repeat(300))
      await pause(50)
    }
    Object.assign(minimumUploadRate, { bytes: 100, periodMs: 60_000 })
    const { status, body } = await answered
    assert.equal(status, 408)
    assert.match(String(body), /BLOB_UPLOAD_INVALID.*fewer than 65536 bytes arrived/)
    raw.close()
  })

  test('a push in one request leaves nothing if its client disconnects, because nobody can continue it', async () => {
    await cancelAll()
    const uploads = async () => (await platform.store.query(sql`select id from uploads`)).length
    const path = `/v2/acme/web/blobs/uploads/?digest=${digestOf('never')}`
    const raw = await sendHead('POST', path, ['content-length: 1000'])
    raw.send('x'.repeat(10))
    while ((await uploads()) === 0) await nextTurn()
    raw.close()
    while ((await uploads()) > 0) await nextTurn()
  })

  test('an upload that the storage cannot begin leaves nothing', async () => {
    await cancelAll()
    const folder = join(platform.config.dataDir, 'content/uploads')
    await rename(folder, `${folder}-away`)
    await writeFile(folder, 'a file in place of the folder')
    try {
      const path = '/v2/acme/web/blobs/uploads/'
      const content = 'not stored'
      assert.equal(await client.errorOf('POST', path), '503 UNAVAILABLE')
      const inOneRequest = `${path}?digest=${digestOf(content)}`
      assert.equal(await client.errorOf('POST', inOneRequest, { body: content }), '503 UNAVAILABLE')
      assert.deepEqual(await platform.store.query(sql`select id from uploads`), [])
      const blobs = sql`select digest from blobs where digest = ${digestOf(content)}`
      assert.deepEqual(await platform.store.query(blobs), [])
    } finally {
      await rm(folder)
      await rename(`${folder}-away`, folder)
    }
    await client.pushBlob('acme/web', 'not stored')
  })

  test('a caller with too many running uploads is refused before the body is sent', async () => {
    const locations = [await client.begin('acme/web'), await client.begin('acme/web')]
    const running = await Promise.all(
      locations.map((location) => sendHead('PATCH', location, ['transfer-encoding: chunked'])),
    )
    for (const location of locations) while (!(await isHeld(location))) await nextTurn()
    const third = await client.begin('acme/web')
    const refused = await sendHead('PATCH', third, ['content-length: 5', 'expect: 100-continue'])
    const { status, headers } = await refused.response()
    assert.deepEqual([status, headers.get('retry-after')], [429, '5'])
    refused.close()
    // The other identities of the organization are refused as well, and those of other organizations are not.
    const colleague = await platform.addIdentity(platform.owner.organization, 'owner')
    const byColleague = await ociClient(platform.url, colleague.token).send('PATCH', third, { body: 'third' })
    assert.equal(byColleague.status, 429)
    assert.match(await byColleague.text(), /at most 2 uploads to the organization/)
    const { token } = await platform.addOrganization('wayne')
    await ociClient(platform.url, token).pushBlob('wayne/web', 'of another organization')
    for (const raw of running) raw.send('0\r\n\r\n')
    for (const raw of running) {
      assert.equal((await raw.response()).status, 202)
      raw.close()
    }
    await client.expect(202, 'PATCH', third, { body: 'third' })
  })

  test('slow pulls of one network are limited, and other networks can still pull', async () => {
    const layer = Buffer.alloc(16 * 2 ** 20, 'x') // more than the system buffers for a connection
    const digest = digestOf(layer)
    await client.expect(201, 'POST', `/v2/acme/web/blobs/uploads/?digest=${digest}`, { body: layer })
    const path = `/v2/acme/web/blobs/${digest}`
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address, range: 'bytes=0-9' } })
    const unread = await Promise.all(
      [1, 2].map(async () => {
        const raw = await sendHead('GET', path, ['x-forwarded-for: 192.0.2.1'])
        await once(raw.socket, 'data')
        raw.socket.pause()
        return raw
      }),
    )
    const refused = await client.send('GET', path, from('192.0.2.1'))
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'])
    assert.match(await refused.text(), /TOOMANYREQUESTS.*at most 2 blobs may be sent to your network/)
    await client.expect(200, 'HEAD', path, from('192.0.2.1'))
    const allowed = await client.expect(206, 'GET', path, from('192.0.2.2'))
    assert.equal(await allowed.text(), 'x'.repeat(10))
    for (const raw of unread) raw.socket.destroy()
    for (;;) {
      const { status, body } = await client.send('GET', path, from('192.0.2.1'))
      await body?.cancel()
      if (status === 206) break
      assert.equal(status, 429)
      await pause(10)
    }
  })

  test('large manifests are read only for callers who may push them, and take a limited amount of memory', async () => {
    const stranger = await platform.addOrganization('stark')
    const length = 'content-length: 8388608'
    const send = (token: string, size = length) =>
      sendHead('PUT', '/v2/acme/web/manifests/large', [size, 'expect: 100-continue'], token)
    for (const size of [length, 'transfer-encoding: chunked']) {
      const stopped = await send(stranger.token, size)
      assert.equal((await stopped.response()).status, 403)
      stopped.close()
    }
    const arriving = [await send(platform.owner.token), await send(platform.owner.token)]
    for (const raw of arriving) assert.equal((await raw.response()).status, 100)
    const refused = await send(platform.owner.token)
    const { status, headers } = await refused.response()
    assert.deepEqual([status, headers.get('retry-after')], [429, '5'])
    for (const raw of [...arriving, refused]) raw.close()
  })

  test('a manifest that is too large is refused after its client has sent it, also without a length', async () => {
    const raw = await sendHead('PUT', '/v2/acme/web/manifests/large', ['transfer-encoding: chunked'])
    const size = 9 * 2 ** 20
    raw.send(`${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n`)
    assert.equal((await raw.response()).status, 413)
    raw.close()
  })

  const skipsLocks = engine === 'sqlite' && 'no other connection can lock a table of SQLite'
  test('large manifests take memory until the store has answered', { skip: skipsLocks }, async (t) => {
    for (const content of ['{}', 'layer']) await client.pushBlob('acme/web', content)
    const other = new pg.Client(platform.config.databaseUrl)
    t.after(() => other.end())
    await other.connect()
    await other.query('begin; lock table manifests in access exclusive mode')
    const pushes = ['one', 'two'].map((reference) =>
      client.pushManifest('acme/web', reference, imageOf('layer', { padding: 'x'.repeat(8_380_000) })),
    )
    const isWaiting = sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await platform.store.query(isWaiting)).length < pushes.length) await pause(5)
    const head = ['content-length: 8388608', 'expect: 100-continue']
    const refused = await sendHead('PUT', '/v2/acme/web/manifests/three', head)
    assert.equal((await refused.response()).status, 429)
    refused.close()
    await other.query('commit')
    await Promise.all(pushes)
  })

  test('a client that waits for 100 Continue gets it only when it may send the body', async () => {
    const location = await client.begin('acme/web')
    const expecting = ['content-length: 8', 'expect: 100-continue']
    const stranger = await platform.addOrganization('umbrella')
    for (const [token, status] of [
      ['not-a-token', 401],
      [stranger.token, 403],
    ] as const) {
      for (const [method, path] of [
        ['PATCH', location],
        ['POST', `/v2/acme/web/blobs/uploads/?digest=${digestOf('accepted')}`],
      ] as const) {
        const raw = await sendHead(method, path, expecting, token)
        assert.equal((await raw.response()).status, status)
        raw.close()
      }
    }
    const raw = await sendHead('PUT', `${location}?digest=${digestOf('accepted')}`, expecting)
    assert.equal((await raw.response()).status, 100)
    raw.send('accepted')
    assert.equal((await raw.response()).status, 201)
    raw.close()
  })
})
