// Manifests, the tags that name them, and the manifests that describe them.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { collectionAccess } from '../../server/policy/system-access.ts'
import { removeEntry } from '../../server/resources/delete.ts'
import { tags } from '../../server/resources/registry/tags/table.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { raw, sql } from '../../server/store/sql.ts'
import type { Work } from '../../server/store/work.ts'
import { untilAnotherWaits } from '../../server/testing/lock-waits.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { OciClient } from './oci-client.ts'
import { descriptor, digestOf, imageOf, ociClient, types } from './oci-client.ts'

onEachStore('manifests of the registry', (engine) => {
  let platform: Platform
  let client: OciClient
  before(async () => {
    platform = await startPlatform(engine)
    client = ociClient(platform.url, platform.owner.token)
  })
  after(() => platform.stop())

  const manifestPath = (name: string, reference: string) => `/v2/${name}/manifests/${reference}`
  const listTags = async (name: string, query = '') => {
    const response = await client.expect(200, 'GET', `/v2/${name}/tags/list${query}`)
    const { tags } = (await response.json()) as { tags: string[] }
    return { tags, link: response.headers.get('link') }
  }
  const restGet = async (path: string) => {
    const headers = { authorization: `Bearer ${platform.owner.token}` }
    return (await (await fetch(`${platform.url}${path}`, { headers })).json()) as Record<string, unknown>
  }
  const repoNamed = async (name: string) => {
    const { repos } = await restGet(`/registry/v2beta1/repos?name=${encodeURIComponent(name)}`)
    return (repos as { uid: string }[])[0]?.uid ?? ''
  }

  test('are pulled as they were pushed, by tag and by digest', async () => {
    const manifest = imageOf('layer', { custom: { kept: true } })
    const digest = await client.pushImage('acme/web', 'latest', 'layer', { custom: { kept: true } })
    for (const reference of ['latest', digest]) {
      const response = await client.expect(200, 'GET', manifestPath('acme/web', reference))
      assert.equal(await response.text(), manifest)
      assert.equal(response.headers.get('content-type'), types.manifest)
      assert.equal(response.headers.get('docker-content-digest'), digest)
      const head = await client.expect(200, 'HEAD', manifestPath('acme/web', reference))
      assert.equal(head.headers.get('content-length'), String(manifest.length))
      assert.equal(head.headers.get('docker-content-digest'), digest)
    }
    assert.equal(await client.errorOf('GET', manifestPath('acme/web', 'other')), '404 MANIFEST_UNKNOWN')
  })

  test('are found by the current digest of a tag, and only in the repo that has them', async () => {
    const contentOf = async (name: string) =>
      (await client.expect(200, 'GET', manifestPath(name, 'moved'))).text()
    for (const layer of ['one', 'two', 'one']) {
      await client.pushImage('acme/moved', 'moved', layer)
      for (let pull = 0; pull < 2; pull++) assert.equal(await contentOf('acme/moved'), imageOf(layer))
    }
    await client.pushImage('acme/unmoved', 'moved', 'two')
    assert.equal(await contentOf('acme/unmoved'), imageOf('two'))
    const digest = digestOf(imageOf('one'))
    await client.expect(200, 'GET', manifestPath('acme/moved', digest))
    assert.equal(await client.errorOf('GET', manifestPath('acme/unmoved', digest)), '404 MANIFEST_UNKNOWN')
    const { token } = await platform.addOrganization('stranger')
    const stranger = ociClient(platform.url, token)
    for (const reference of ['moved', digest])
      assert.equal(await stranger.errorOf('GET', manifestPath('acme/moved', reference)), '403 DENIED')
    await client.expect(202, 'DELETE', manifestPath('acme/moved', digest))
    for (const reference of ['moved', digest])
      assert.equal(await client.errorOf('GET', manifestPath('acme/moved', reference)), '404 MANIFEST_UNKNOWN')
  })

  test('create and move tags of the API, and record their history', async () => {
    const digests = [
      await client.pushImage('acme/api', 'v1', 'a'),
      await client.pushImage('acme/api', 'v1', 'b'),
    ]
    const repo = await repoNamed('api')
    const { tags } = await restGet(`/registry/v2beta1/tags?uidp.childrenOf=${repo}`)
    const [tag, ...others] = tags as { uid: string; name: string; digest: string }[]
    assert.deepEqual([tag?.name, tag?.digest, others], ['v1', digests[1], []])
    const history = await platform.store.query(
      sql`select digest from tag_history where tag = ${tag?.uid ?? ''} order by update_time`,
    )
    assert.deepEqual(history.flat(), digests)
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  })

  test('can get several tags in one push, and can be pushed by a sha512 digest', async () => {
    await client.pushImage('acme/many', 'one', 'many')
    const manifest = imageOf('many')
    const digest = digestOf(manifest, 'sha512')
    const { headers } = await client.pushManifest('acme/many', `${digest}?tag=two&tag=three`, manifest)
    assert.equal(headers.get('oci-tag'), 'two, three')
    assert.equal(headers.get('docker-content-digest'), digest)
    const response = await client.expect(200, 'HEAD', manifestPath('acme/many', 'three'))
    assert.equal(response.headers.get('docker-content-digest'), digest)
    assert.deepEqual((await listTags('acme/many')).tags, ['one', 'three', 'two'])
    const wrong = manifestPath('acme/many', `${digest}?tag=.x`)
    assert.equal(await client.errorOf('PUT', wrong, { body: manifest }), '400 TAG_INVALID')
  })

  test('that are indexes need the manifests that they list', async () => {
    const child = await client.pushImage('acme/index', digestOf(imageOf('child')), 'child')
    const entry = {
      ...descriptor(imageOf('child'), types.manifest),
      platform: { os: 'linux', architecture: 'arm64' },
    }
    const index = JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests: [entry] })
    assert.equal(entry.digest, child)
    await client.pushManifest('acme/index', 'latest', index, types.index)
    const rows = await platform.store.query(
      sql`select platforms, total_size from manifests where digest = ${digestOf(index)}`,
    )
    assert.deepEqual(rows, [['linux/arm64', index.length + imageOf('child').length + '{}child'.length]])
    const init = { body: index, headers: { 'content-type': types.index } }
    const elsewhere = manifestPath('acme/elsewhere', 'latest')
    assert.equal(await client.errorOf('PUT', elsewhere, init), '404 MANIFEST_BLOB_UNKNOWN')
  })

  test('are refused if they are wrong, incomplete or too large', async () => {
    const put = (body: string, reference = 'bad', type = types.manifest) =>
      client.errorOf('PUT', manifestPath('acme/bad', reference), { body, headers: { 'content-type': type } })
    assert.equal(await put('{'), '400 MANIFEST_INVALID')
    assert.equal(await put(imageOf('x'), 'bad', 'text/plain'), '400 MANIFEST_INVALID')
    assert.equal(await put(imageOf('x')), '404 MANIFEST_BLOB_UNKNOWN')
    assert.equal(await put(imageOf('x'), digestOf('y')), '400 DIGEST_INVALID')
    assert.equal(await put(imageOf('x'), 'sha256:bad'), '400 DIGEST_INVALID')
    assert.equal(await put(imageOf('x'), '.bad'), '400 TAG_INVALID')
    assert.equal(await put(' '.repeat(8 * 2 ** 20 + 1)), '413 SIZE_INVALID')
    assert.deepEqual((await listTags('acme/bad')).tags, [])
  })

  test('are deleted with their tags, and stay if only a tag is deleted', async () => {
    const digest = await client.pushImage('acme/gone', 'a', 'gone')
    await client.pushManifest('acme/gone', 'b', imageOf('gone'))
    await client.expect(202, 'DELETE', manifestPath('acme/gone', 'a'))
    assert.equal(await client.errorOf('GET', manifestPath('acme/gone', 'a')), '404 MANIFEST_UNKNOWN')
    await client.expect(200, 'GET', manifestPath('acme/gone', digest))
    await client.expect(202, 'DELETE', manifestPath('acme/gone', digest))
    for (const reference of ['b', digest])
      assert.equal(await client.errorOf('GET', manifestPath('acme/gone', reference)), '404 MANIFEST_UNKNOWN')
    assert.deepEqual((await listTags('acme/gone')).tags, [])
    assert.equal(await client.errorOf('DELETE', manifestPath('acme/gone', 'b')), '404 MANIFEST_UNKNOWN')
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  })

  test('are deleted with their tags, except those that other calls move or delete meanwhile', {
    skip: engine === 'sqlite' && 'SQLite runs one write after another',
  }, async () => {
    const former = await client.pushImage('acme/raced', 'kept', 'former')
    for (const tag of ['moved', 'deleted']) await client.pushManifest('acme/raced', tag, imageOf('former'))
    const current = await client.pushImage('acme/raced', 'current', 'current')
    const repo = await repoNamed('raced')
    const locked = Promise.withResolvers<void>()
    function* changeTags(): Work<void> {
      const rows =
        yield sql`select name, uid from tags where parent = ${repo} and name in ('moved', 'deleted')
        order by uid /*pg for update */`
      const uids = new Map(rows as [string, string][])
      yield sql`update tags set digest = ${current} where uid = ${uids.get('moved') ?? ''}`
      yield* removeEntry(collectionAccess, tags, uids.get('deleted') ?? '')
      locked.resolve()
      yield raw(untilAnotherWaits)
    }
    const changed = platform.store.write(changeTags)
    await locked.promise
    await client.expect(202, 'DELETE', manifestPath('acme/raced', former))
    await changed
    assert.deepEqual((await listTags('acme/raced')).tags, ['current', 'moved'])
    const pulled = await client.expect(200, 'GET', manifestPath('acme/raced', 'moved'))
    assert.equal(await pulled.text(), imageOf('current'))
    assert.equal(await client.errorOf('GET', manifestPath('acme/raced', former)), '404 MANIFEST_UNKNOWN')
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  })

  test('are deleted with any number of tags, by themselves or with their repo', async () => {
    const digest = await client.pushImage('acme/crowded', 'first', 'many')
    const addTags = async () => {
      for (const letter of ['a', 'b']) {
        const tags = Array.from({ length: 75 }, (_, at) => `tag=${letter}${at}`).join('&')
        await client.pushManifest('acme/crowded', `${digest}?${tags}`, imageOf('many'))
      }
    }
    await addTags()
    await client.expect(202, 'DELETE', manifestPath('acme/crowded', digest))
    assert.deepEqual((await listTags('acme/crowded')).tags, [])
    await addTags()
    const headers = { authorization: `Bearer ${platform.owner.token}` }
    const path = `/registry/v2beta1/repos/${await repoNamed('crowded')}`
    assert.equal((await fetch(`${platform.url}${path}`, { method: 'DELETE', headers })).status, 200)
    assert.equal(await client.errorOf('GET', manifestPath('acme/crowded', 'a1')), '404 NAME_UNKNOWN')
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  })

  test('have tags that are listed in pages', async () => {
    await client.pushImage('acme/tags', 'c', 'tags')
    for (const tag of ['a', 'B', 'd']) await client.pushManifest('acme/tags', tag, imageOf('tags'))
    const first = await listTags('acme/tags', '?n=2')
    assert.deepEqual(first, { tags: ['B', 'a'], link: '</v2/acme/tags/tags/list?n=2&last=a>; rel="next"' })
    assert.deepEqual(await listTags('acme/tags', '?n=2&last=a'), { tags: ['c', 'd'], link: null })
    assert.deepEqual(await listTags('acme/tags', '?n=0'), { tags: [], link: null })
    assert.equal(await client.errorOf('GET', '/v2/acme/tags/tags/list?n=x'), '400 PAGINATION_NUMBER_INVALID')
  })

  test('that describe another one are listed by type, in pages of limited size', async () => {
    const subject = descriptor(imageOf('subject'), types.manifest)
    await client.pushBlob('acme/ref', '{}')
    const push = async (artifactType: string, number: number) => {
      const content = JSON.stringify({
        ...{ schemaVersion: 2, config: descriptor('{}'), layers: [], subject, artifactType },
        annotations: { number: String(number), text: 'x'.repeat(300_000) },
      })
      const { headers } = await client.pushManifest('acme/ref', digestOf(content), content)
      assert.equal(headers.get('oci-subject'), subject.digest)
    }
    /** Follows the links between pages. Returns the numbers on all pages, and how many are on each. */
    const listSboms = async () => {
      const pages: string[][] = []
      let path = `/v2/acme/ref/referrers/${subject.digest}?artifactType=text/sbom`
      while (path !== '') {
        const response = await client.expect(200, 'GET', path)
        assert.equal(response.headers.get('content-type'), types.index)
        assert.equal(response.headers.get('oci-filters-applied'), 'artifactType')
        const { manifests } = (await response.json()) as {
          manifests: { annotations: { number: string } }[]
        }
        pages.push(manifests.map(({ annotations }) => annotations.number))
        path = /<(.*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? ''
      }
      return { numbers: pages.flat().sort(), sizes: pages.map(({ length }) => length) }
    }
    for (let number = 0; number < 4; number++) await push(number < 3 ? 'text/sbom' : 'text/signature', number)
    assert.deepEqual(await listSboms(), { numbers: ['0', '1', '2'], sizes: [3] })
    for (let number = 4; number < 8; number++) await push('text/sbom', number)
    assert.deepEqual(await listSboms(), { numbers: ['0', '1', '2', '4', '5', '6', '7'], sizes: [3, 3, 1] })
    const none = await client.expect(200, 'GET', `/v2/acme/none/referrers/${subject.digest}`)
    assert.deepEqual(((await none.json()) as { manifests: unknown[] }).manifests, [])
  })

  test('are released with their blobs when the API deletes the repo', async () => {
    await client.pushImage('acme/whole', 'latest', 'whole')
    await client.begin('acme/whole')
    const repo = await repoNamed('whole')
    const headers = { authorization: `Bearer ${platform.owner.token}` }
    const response = await fetch(`${platform.url}/registry/v2beta1/repos/${repo}`, {
      method: 'DELETE',
      headers,
    })
    assert.equal(response.status, 200)
    for (const table of [sql`manifests`, sql`repo_blobs`, sql`uploads`])
      assert.deepEqual(await platform.store.query(sql`select 1 from ${table} where repo = ${repo}`), [])
    assert.equal(await client.errorOf('GET', manifestPath('acme/whole', 'latest')), '404 NAME_UNKNOWN')
  })
})
