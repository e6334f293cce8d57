// Who may push, pull and delete. Access is decided anew for each request.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, imageOf, ociClient, types } from './oci-client.ts'

onEachStore('access to the registry', (engine) => {
  let platform: Platform
  let owner: OciClient
  before(async () => {
    platform = await sharedPlatform(engine)
    owner = ociClient(platform.url, platform.owner.token)
    await owner.pushImage('acme/web', 'latest', 'layer')
  })
  after(() => platform.stop())

  const memberWith = async (role: string) => {
    const { token, identity } = await platform.addIdentity(platform.owner.organization, role)
    return { identity, client: ociClient(platform.url, token) }
  }

  test('needs an access token, as a bearer token or as the password of _token', async () => {
    const { token } = platform.owner
    const basic = (user: string, password: string) =>
      `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    const statusOf = async (authorization?: string) => {
      const response = await fetch(`${platform.url}/v2/`, {
        ...(authorization && { headers: { authorization } }),
      })
      return [response.status, response.headers.get('www-authenticate') ?? '']
    }
    assert.deepEqual(await statusOf(`Bearer ${token}`), [200, ''])
    assert.deepEqual(await statusOf(basic('_token', token)), [200, ''])
    const challenge = 'Bearer realm="http://stemma.test/v2/token",service="stemma.test"'
    assert.deepEqual(await statusOf(), [401, challenge])
    for (const wrong of [basic('_token', 'x'), basic('ada', token), 'Bearer x', 'Basic !'])
      assert.deepEqual(await statusOf(wrong), [401, `${challenge},error="invalid_token"`], wrong)
  })

  test('with the role registry.pull does not include pushes and deletes', async () => {
    const { client } = await memberWith('registry.pull')
    await client.expect(200, 'GET', '/v2/acme/web/manifests/latest')
    await client.expect(200, 'GET', `/v2/acme/web/blobs/${digestOf('layer')}`)
    const refused: [method: string, path: string, body?: string][] = [
      ['POST', '/v2/acme/web/blobs/uploads/'],
      ['POST', `/v2/acme/web/blobs/uploads/?digest=${digestOf('x')}`, 'x'],
      ['POST', `/v2/acme/new/blobs/uploads/?mount=${digestOf('layer')}&from=acme/web`],
      ['PUT', '/v2/acme/web/manifests/latest', imageOf('layer')],
      ['DELETE', '/v2/acme/web/manifests/latest'],
      ['DELETE', `/v2/acme/web/manifests/${digestOf(imageOf('layer'))}`],
      ['DELETE', `/v2/acme/web/blobs/${digestOf('layer')}`],
    ]
    for (const [method, path, body] of refused)
      assert.equal(
        await client.errorOf(method, path, { ...(body && { body }) }),
        '403 DENIED',
        `${method} ${path}`,
      )
  })

  test('with the role registry.push includes new repos and tags', async () => {
    const { client } = await memberWith('registry.push')
    await client.pushImage('acme/pushed', 'latest', 'pushed')
    await client.expect(202, 'DELETE', '/v2/acme/pushed/manifests/latest')
  })

  test('with the capability to create tags does not include moving existing ones', async () => {
    const capabilities = ['CAP_MANIFEST_CREATE', 'CAP_TAG_CREATE'] as const
    const { token } = await platform.addIdentityWith(platform.owner.organization, [...capabilities])
    const client = ociClient(platform.url, token)
    await client.pushManifest('acme/web', 'new', imageOf('layer'))
    const init = { body: imageOf('layer'), headers: { 'content-type': types.manifest } }
    assert.equal(await client.errorOf('PUT', '/v2/acme/web/manifests/latest', init), '403 DENIED')
  })

  test('ends with the next request after the role binding is deleted', async () => {
    const { client, identity } = await memberWith('registry.push')
    const location = await client.begin('acme/web')
    await platform.unbind(identity)
    assert.equal(await client.errorOf('PATCH', location, { body: 'x' }), '403 DENIED')
    assert.equal(await client.errorOf('GET', '/v2/acme/web/manifests/latest'), '403 DENIED')
  })

  test('does not follow from knowing the digest of a blob', async () => {
    const digest = digestOf('layer')
    const { token } = await platform.addOrganization('other')
    const stranger = ociClient(platform.url, token)
    await stranger.pushBlob('other/web', 'own')
    const from = ['', '&from=acme/web', '&from=other/web']
    for (const source of from) {
      const path = `/v2/other/web/blobs/uploads/?mount=${digest}${source}`
      await stranger.expect(202, 'POST', path)
    }
    assert.equal(await stranger.errorOf('GET', `/v2/other/web/blobs/${digest}`), '404 BLOB_UNKNOWN')
    assert.equal((await stranger.send('HEAD', `/v2/other/web/blobs/${digest}`)).status, 404)
    const manifest = { body: imageOf('layer'), headers: { 'content-type': types.manifest } }
    assert.equal(
      await stranger.errorOf('PUT', '/v2/other/web/manifests/x', manifest),
      '404 MANIFEST_BLOB_UNKNOWN',
    )
    const range = { headers: { range: 'bytes=0-1' } }
    assert.equal(await stranger.errorOf('GET', `/v2/acme/web/blobs/${digest}`, range), '403 DENIED')
  })

  test('in one repo does not include the uploads of another', async () => {
    const { token } = await platform.addOrganization('third')
    const stranger = ociClient(platform.url, token)
    await stranger.pushBlob('third/web', 'own')
    const location = await owner.begin('acme/web')
    const elsewhere = location.replace('acme/', 'third/')
    assert.equal(await stranger.errorOf('PATCH', location, { body: 'x' }), '403 DENIED')
    for (const method of ['PATCH', 'PUT', 'DELETE', 'GET'])
      assert.equal(
        await stranger.errorOf(method, `${elsewhere}?digest=${digestOf('x')}`),
        '404 BLOB_UPLOAD_UNKNOWN',
      )
  })
})
