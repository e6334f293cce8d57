// How a registry name is resolved to a repo, and which errors callers get if there is no such repo.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, imageOf, ociClient } from './oci-client.ts'
import { basic, getToken } from './token-client.ts'

onEachStore('names of the registry', (engine) => {
  let platform: Platform
  let client: OciClient
  before(async () => {
    platform = await sharedPlatform(engine)
    client = ociClient(platform.url, platform.owner.token)
  })
  after(() => platform.stop())

  const rest = async (method: string, path: string, body?: object, token = platform.owner.token) => {
    const response = await fetch(`${platform.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return JSON.parse(text || '{}') as { uid: string; repos: { uid: string; name: string }[] }
  }
  const makeGroup = async (parent: string, name: string) =>
    (await rest('POST', `/iam/v2beta1/groups/${parent}`, { name })).uid
  const makeRepo = async (parent: string, name: string) =>
    (await rest('POST', `/registry/v2beta1/repos/${parent}`, { name })).uid
  const repoHolding = async (content: string) => {
    const rows = await platform.store.query(
      sql`select repo from repo_blobs where digest = ${digestOf(content)}`,
    )
    return rows.flat()
  }

  test('consist of the names of groups and of the repo, and the uid of the repo always works instead', async () => {
    const group = await makeGroup(platform.owner.organization, 'team')
    const inner = await makeGroup(group, 'inner')
    const repo = await makeRepo(inner, 'app')
    await client.pushBlob('acme/team/inner/app', 'by name')
    assert.deepEqual(await repoHolding('by name'), [repo])
    await client.pushBlob(repo, 'by uid')
    assert.deepEqual(await repoHolding('by uid'), [repo])
    const pulled = await client.expect(200, 'GET', `/v2/${repo}/blobs/${digestOf('by name')}`)
    assert.equal(await pulled.text(), 'by name')
  })

  test('of repos may contain slashes; the repo in the highest group wins', async () => {
    const organization = platform.owner.organization
    const outer = await makeRepo(organization, 'tools/base')
    await client.pushBlob('acme/tools/base', 'outer')
    const group = await makeGroup(organization, 'tools')
    await client.pushBlob('acme/tools/base', 'still outer')
    assert.deepEqual([await repoHolding('outer'), await repoHolding('still outer')], [[outer], [outer]])
    await makeRepo(group, 'base')
    await client.pushBlob('acme/tools/base', 'outer again')
    assert.deepEqual(await repoHolding('outer again'), [outer])
    const long = 'a/b/c/d/e/f/g/h/i'
    const deep = [
      await makeRepo(organization, long),
      await makeRepo(await makeGroup(organization, 'a'), long.slice(2)),
    ]
    await client.pushBlob(`acme/${long}`, 'many parts')
    assert.deepEqual(await repoHolding('many parts'), deep.slice(0, 1))
  })

  test('cannot be taken over by renaming a subgroup', async () => {
    const good = await client.pushImage('acme/lib/static', 'v1', 'good')
    const group = await makeGroup(platform.owner.organization, 'x')
    const { token } = await platform.addIdentity(group, 'owner')
    await ociClient(platform.url, token).pushImage('acme/x/static', 'v1', 'evil')
    await rest('PATCH', `/iam/v2beta1/groups/${group}`, { name: 'lib' }, token)
    const pulled = await client.expect(200, 'GET', '/v2/acme/lib/static/manifests/v1')
    assert.equal(pulled.headers.get('docker-content-digest'), good)
  })

  test('of missing repos: a push creates the repo in the deepest group that exists', async () => {
    const group = await makeGroup(platform.owner.organization, 'new')
    await client.pushBlob('acme/new/a/b', 'created')
    const { repos } = await rest('GET', `/registry/v2beta1/repos?uidp.childrenOf=${group}`)
    assert.deepEqual(
      repos.map(({ name }) => name),
      ['a/b'],
    )
    assert.deepEqual(await repoHolding('created'), [repos[0]?.uid])
    const long = `acme/new/${'x'.repeat(256)}`
    assert.equal(await client.errorOf('POST', `/v2/${long}/blobs/uploads/`), '400 NAME_INVALID')
    assert.equal(await client.errorOf('POST', '/v2/acme/blobs/uploads/'), '404 NAME_UNKNOWN')
  })

  test('of missing repos: a push creates nothing if the operator has turned that off', async () => {
    const other = await startPlatform(engine, ['--repo-creation', 'api'])
    try {
      const pusher = ociClient(other.url, other.owner.token)
      assert.equal(await pusher.errorOf('POST', '/v2/acme/web/blobs/uploads/'), '404 NAME_UNKNOWN')
    } finally {
      await other.stop()
    }
  })

  /** Inserts copies of a group with the same name, and with uids that sort before its own. */
  const copyGroup = (uid: string, count: number) =>
    platform.store.write(function* () {
      for (let at = 0; at < count; at++) {
        const copy = `${uid.slice(0, -16)}${String(at).padStart(16, '0')}`
        yield sql`insert into groups (uid, parent, root, name, create_time, update_time, proto, json, shape)
          select ${copy}, parent, ${copy.slice(0, 40)}, name, create_time, update_time, proto, json, shape
          from groups where uid = ${uid}`
      }
    })

  test('shared by several organizations refer to the verified one, or else to the one that the caller has access to', async () => {
    const [first, second] = [await platform.addOrganization('twin'), await platform.addOrganization('twin')]
    await copyGroup(second.organization, 30)
    const pusher = ociClient(platform.url, first.token)
    await pusher.pushImage('twin/web', 'v1', 'first')
    await ociClient(platform.url, second.token).pushImage('twin/web', 'v1', 'second')
    const pulled = await pusher.expect(200, 'GET', '/v2/twin/web/manifests/v1')
    assert.equal(pulled.headers.get('docker-content-digest'), digestOf(imageOf('first')))
    const puller = await platform.addIdentity(first.organization, 'registry.pull')
    await ociClient(platform.url, puller.token).expect(200, 'GET', '/v2/twin/web/tags/list')
    const mount = `/v2/twin/copy/blobs/uploads/?mount=${digestOf('first')}&from=twin/web`
    await pusher.expect(201, 'POST', mount)
    const { body } = await getToken(
      platform.url,
      ['repository:twin/web:pull,push'],
      basic('_token', first.token),
    )
    assert.equal(body.scope, 'repository:twin/web:pull,push')
    assert.equal(await client.errorOf('GET', '/v2/twin/web/tags/list'), '403 DENIED')
    await platform.store.write(function* () {
      yield sql`update groups set domain = 'twin' where uid = ${second.organization}`
    })
    assert.equal(await pusher.errorOf('GET', '/v2/twin/web/tags/list'), '403 DENIED')
    await ociClient(platform.url, second.token).expect(200, 'GET', '/v2/twin/web/tags/list')
  })

  test('shared by several groups are ambiguous for callers who have access to more than one of them', async () => {
    const group = await makeGroup(platform.owner.organization, 'double')
    await client.pushImage('acme/double/app', 'v1', 'app')
    await copyGroup(group, 30)
    const response = await client.send('GET', '/v2/acme/double/app/tags/list')
    assert.equal(response.status, 409)
    assert.match(await response.text(), new RegExp(`${platform.owner.organization}/0000`))
    const { token } = await platform.addIdentity(group, 'registry.pull')
    await ociClient(platform.url, token).expect(200, 'GET', '/v2/acme/double/app/tags/list')
    const above = await makeRepo(platform.owner.organization, 'double/app')
    await client.pushBlob('acme/double/app', 'above')
    assert.deepEqual(await repoHolding('above'), [above])
  })

  test('that a caller may not use look the same whether they exist or not', async () => {
    await client.pushImage('acme/secret', 'latest', 'secret')
    const { token } = await platform.addOrganization('stranger')
    const stranger = ociClient(platform.url, token)
    const answers = async (name: string) => {
      const paths = [
        ['GET', 'manifests/latest'],
        ['GET', 'tags/list'],
        ['GET', `blobs/${digestOf('secret')}`],
        ['GET', `referrers/${digestOf('secret')}`],
        ['POST', 'blobs/uploads/'],
        ['DELETE', 'manifests/latest'],
      ] as const
      const texts = paths.map(async ([method, path]) => {
        const response = await stranger.send(method, `/v2/${name}/${path}`)
        return `${response.status} ${(await response.text()).replaceAll(name, 'NAME')}`
      })
      return Promise.all(texts)
    }
    const known = await answers('acme/secret')
    assert.deepEqual(await answers('acme/absent'), known)
    assert.deepEqual(await answers('nobody/absent'), known)
    for (const text of known) assert.match(text, /^403 .*"DENIED"/)
    assert.equal(await client.errorOf('GET', '/v2/acme/absent/tags/list'), '404 NAME_UNKNOWN')
  })

  test('that no repo can have are refused', async () => {
    for (const name of ['Acme/web', 'acme//web', 'acme/web-', '%61cme/web'])
      assert.equal(await client.errorOf('GET', `/v2/${name}/tags/list`), '400 NAME_INVALID')
    // Sent as it is, because fetch would resolve the dots.
    const raw = await rawClient(platform.app.port)
    const headers = ['host: x', `authorization: Bearer ${platform.owner.token}`, 'connection: close']
    raw.send(`${['GET /v2/acme/../tags/list HTTP/1.1', ...headers].join('\r\n')}\r\n\r\n`)
    const { status, body } = await raw.response()
    assert.deepEqual([status, JSON.parse(body).errors[0].code], [400, 'NAME_INVALID'])
    assert.equal(await client.errorOf('GET', '/v2/acme/web'), '404 UNSUPPORTED')
  })

  test('are refused with a method that the path does not accept, and the response names those that it accepts', async () => {
    for (const [method, path, allow] of [
      ['POST', '/v2/acme/web/tags/list', 'GET, HEAD'],
      ['POST', '/v2/acme/web/manifests/v1', 'GET, HEAD, PUT, DELETE'],
      ['GET', '/v2/acme/web/blobs/uploads/', 'POST'],
      ['GET', '/v2/_catalog', ''],
    ] as const) {
      assert.equal(await client.errorOf(method, path), '405 UNSUPPORTED')
      assert.equal((await client.send(method, path)).headers.get('allow'), allow, path)
    }
  })
})
