// Uploads that several copies of the server receive.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { App } from '../../server/app.ts'
import { startApp } from '../../server/app.ts'
import { openLog } from '../../server/log.ts'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import type { S3Server } from '../../server/testing/s3-server.ts'
import { startS3Server } from '../../server/testing/s3-server.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, ociClient } from './oci-client.ts'

// With the embedded store, the copies share a folder; with PostgreSQL, they share a bucket in S3.
onEachStore('uploads with several copies', (engine) => {
  let s3: S3Server | undefined
  let platform: Platform
  let others: App[] = []
  let client: OciClient
  before(async () => {
    s3 = engine === 'postgres' ? await startS3Server() : undefined
    platform = await startPlatform(engine, s3?.settings)
    client = ociClient(platform.url, platform.owner.token)
  })
  after(async () => {
    for (const app of others) await app.stop(true)
    await platform.stop()
    await s3?.stop()
  })

  /** Starts another copy, whose clock is ahead by some milliseconds. */
  async function startCopy(aheadMs = 0): Promise<OciClient> {
    const app = await startApp(platform.config, openLog('silent'), { now: () => Date.now() + aheadMs })
    others.push(app)
    return ociClient(`http://127.0.0.1:${app.port}`, platform.owner.token)
  }
  const chunk = (first: number, body: string) => ({
    ...{ body, headers: { 'content-range': `${first}-${first + body.length - 1}` } },
  })
  const pulled = async (content: string) =>
    (await client.expect(200, 'GET', `/v2/acme/web/blobs/${digestOf(content)}`)).text()

  test('continue on another copy, and after a restart', async () => {
    const location = await client.begin('acme/web')
    const parts = ['from the first, ', 'from the second, ', 'after a restart']
    await client.expect(202, 'PATCH', location, chunk(0, parts[0] ?? ''))
    const second = await startCopy()
    await second.expect(202, 'PATCH', location, chunk(16, parts[1] ?? ''))
    for (const app of others) await app.stop(true)
    others = []
    const restarted = await startCopy()
    const { headers } = await restarted.expect(204, 'GET', location)
    assert.equal(headers.get('range'), '0-32')
    await restarted.expect(202, 'PATCH', location, chunk(33, parts[2] ?? ''))
    await client.expect(201, 'PUT', `${location}?digest=${digestOf(parts.join(''))}`)
    assert.equal(await pulled(parts.join('')), parts.join(''))
  })

  test('accept one request at a time, and the next one after it has ended', async () => {
    const second = await startCopy()
    const location = await client.begin('acme/web')
    const raw = await rawClient(platform.app.port)
    const authorization = `authorization: Bearer ${platform.owner.token}`
    raw.send(`PATCH ${location} HTTP/1.1\r\nhost: x\r\n${authorization}\r\ncontent-length: 10\r\n\r\nfirst`)
    const id = location.split('/').at(-1) ?? ''
    const isHeld = async () =>
      (await platform.store.query(sql`select lease from uploads where id = ${id}`))[0]?.[0] !== null
    while (!(await isHeld())) await nextTurn()
    for (const other of [client, second]) {
      const response = await other.send('PATCH', location, chunk(0, 'other'))
      assert.deepEqual([response.status, response.headers.get('retry-after')], [409, '5'])
      assert.match(await response.text(), /BLOB_UPLOAD_INVALID.*another request is using this upload/)
      const put = `${location}?digest=${digestOf('first')}`
      assert.equal(await other.errorOf('PUT', put), '409 BLOB_UPLOAD_INVALID')
      assert.equal(await other.errorOf('DELETE', location), '409 BLOB_UPLOAD_INVALID')
    }
    raw.send('again')
    assert.equal((await raw.response()).status, 202)
    raw.close()
    await second.expect(201, 'PUT', `${location}?digest=${digestOf('firstagain')}`)
    assert.equal(await pulled('firstagain'), 'firstagain')
  })

  test('have the bytes of exactly one of many requests that append at the same position', async () => {
    const second = await startCopy()
    const location = await client.begin('acme/web')
    const bodies = Array.from({ length: 12 }, (_, index) => `content ${index % 10}`)
    const statuses = await Promise.all(
      bodies.map(async (body, index) => {
        const { status } = await (index % 2 ? second : client).send('PATCH', location, chunk(0, body))
        return status
      }),
    )
    const winner = bodies[statuses.indexOf(202)] ?? ''
    assert.equal(statuses.filter((status) => status === 202).length, 1, String(statuses))
    assert.ok(
      statuses.every((status) => [202, 409, 416].includes(status)),
      String(statuses),
    )
    await client.expect(201, 'PUT', `${location}?digest=${digestOf(winner)}`)
  })

  test('can be used again a minute after the copy that used them was killed', async () => {
    const location = await client.begin('acme/web')
    const id = location.split('/').at(-1) ?? ''
    await platform.store.write(function* () {
      yield sql`update uploads set lease = 'killed', lease_until = ${Date.now() + 60_000} where id = ${id}`
    })
    assert.equal(await client.errorOf('PATCH', location, chunk(0, 'x')), '409 BLOB_UPLOAD_INVALID')
    const later = await startCopy(61_000)
    await later.expect(202, 'PATCH', location, chunk(0, 'x'))
    await client.expect(201, 'PUT', `${location}?digest=${digestOf('x')}`)
  })
})
