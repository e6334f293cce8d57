// The registry with its content in S3.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Digest } from '../../server/blobs/digest.ts'
import { openS3Store } from '../../server/blobs/s3/s3-store.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { S3Server } from '../../server/testing/s3-server.ts'
import { startS3Server } from '../../server/testing/s3-server.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, ociClient } from './oci-client.ts'

onEachStore('the registry with its content in S3', (engine) => {
  let s3: S3Server
  let platform: Platform
  let client: OciClient
  const captured = captureLog('error')
  before(async () => {
    s3 = await startS3Server()
    platform = await startPlatform(engine, [...s3.settings, '--s3-redirect', '300'], {}, captured.log)
    client = ociClient(platform.url, platform.owner.token)
  })
  after(async () => {
    await platform.stop()
    await s3.stop()
  })

  const layer = 'the bytes of a layer'
  const path = `/v2/acme/web/blobs/${digestOf(layer)}`
  const withoutFollowing = { redirect: 'manual' as const }

  test('redirects pulls of blobs to S3, with URLs that expire after some minutes', async () => {
    await client.pushImage('acme/web', 'latest', layer)
    const response = await client.expect(307, 'GET', path, withoutFollowing)
    const location = response.headers.get('location') ?? ''
    assert.ok(location.startsWith(`${s3.options.endpoint}/stemma/blobs/sha256/`), location)
    assert.match(location, /X-Amz-Expires=300&/)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    // Without the token: clients do not send it when they follow a redirect to another host.
    assert.equal(await (await fetch(location)).text(), layer)
    const part = await fetch(location, { headers: { range: 'bytes=4-8' } })
    assert.deepEqual([part.status, await part.text()], [206, 'bytes'])
  })

  test('does not redirect HEAD, or a range after the end of the blob', async () => {
    const head = await client.expect(200, 'HEAD', path, withoutFollowing)
    assert.equal(head.headers.get('content-length'), String(layer.length))
    await client.expect(416, 'GET', path, { ...withoutFollowing, headers: { range: 'bytes=100-' } })
  })

  test('does not redirect requests from pages of this server, since their Content-Security-Policy forbids it', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' }
    const response = await client.expect(200, 'GET', path, { ...withoutFollowing, headers })
    assert.equal(await response.text(), layer)
    await client.expect(307, 'GET', path, { ...withoutFollowing, headers: { 'sec-fetch-site': 'none' } })
  })

  test('gives no URL to a client that may not read the repo, or if the repo has no such blob', async () => {
    const stranger = await platform.addOrganization('umbrella')
    const other = ociClient(platform.url, stranger.token)
    await other.expect(403, 'GET', path, withoutFollowing)
    await client.pushBlob('acme/other', 'something else')
    await client.expect(404, 'GET', path.replace('web', 'other'), withoutFollowing)
  })
  test('reports a lost blob only once, and a push repairs it', async () => {
    const lost = 'lost'
    for (const name of ['acme/web', 'acme/api']) await client.pushBlob(name, lost)
    const lostPath = `/v2/acme/web/blobs/${digestOf(lost)}`
    await forgetBlob(lost)
    for (const name of ['web', 'api']) {
      const from = lostPath.replace('web', name)
      assert.equal(await client.errorOf('GET', from, withoutFollowing), '404 BLOB_UNKNOWN')
    }
    const reports = captured.written.filter((line) => line.includes(`blob ${digestOf(lost)} is missing`))
    assert.equal(reports.length, 1)
    await client.expect(404, 'HEAD', lostPath)
    await client.expect(202, 'POST', `/v2/acme/tools/blobs/uploads/?mount=${digestOf(lost)}&from=acme/web`)
    await client.pushBlob('acme/web', lost)
    await client.expect(307, 'GET', lostPath, withoutFollowing)
    await client.expect(200, 'HEAD', lostPath)
  })

  /** Deletes the object of a blob, and nothing else. */
  async function forgetBlob(content: string): Promise<void> {
    const blobs = await openS3Store(s3.options)
    await blobs.delete(digestOf(content) as Digest) // digestOf returns a valid digest
    await blobs.close()
  }
})
