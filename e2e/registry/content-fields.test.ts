// The fields of tags and repos that describe pushed content.
import assert from 'node:assert/strict'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples } from '../contract/examples.ts'
import { descriptor, digestOf, imageOf, indexOf, ociClient, pushParts, types } from './oci-client.ts'

const { createRepo, getRepo, listRepos, updateRepo, deleteRepo } = ReposService.method
const { createTag, updateTag, listTags } = TagsService.method

const amd64 = JSON.stringify({ os: 'linux', architecture: 'amd64' })
const armV7 = JSON.stringify({ os: 'linux', architecture: 'arm', variant: 'v7' })

async function openRepo({ succeed, owner, platform }: ExampleContext, name = 'web') {
  const { uid } = await succeed(createRepo, { parent: owner.organization, repo: { name } })
  return { repo: uid as string, client: ociClient(platform.url, owner.token) }
}

type ShownTag = { uid: string; digest: string; size?: string; mediaType?: string; platforms?: string[] }

/** The tags of a repo by name, each with the fields that describe its image. */
async function tagsOf({ succeed }: ExampleContext, repo: string): Promise<Record<string, unknown>> {
  const { tags = [] } = await succeed(listTags, { uidp: { childrenOf: repo }, includeReferrers: true })
  return Object.fromEntries(
    (tags as (ShownTag & { name: string })[]).map(({ name, size, mediaType, platforms }) => [
      name,
      { size, mediaType, platforms },
    ]),
  )
}

const nothing = { size: undefined, mediaType: undefined, platforms: undefined }

/** Returns the size of a repo. Asserts that lists and the rows of its content agree with it. */
async function checkedSize({ succeed, platform }: ExampleContext, repo: string) {
  const shown = (await succeed(getRepo, { uid: repo })).size
  const { repos } = await succeed(listRepos, { uidp: { descendantsOf: repo.split('/')[0] ?? '' } })
  const [listed] = (repos as { uid: string; size?: string }[]).filter(({ uid }) => uid === repo)
  assert.equal(listed?.size, shown)
  const [row] = await platform.store.query(sql`select
    (select coalesce(sum(b.size), 0) from repo_blobs r join blobs b on b.digest = r.digest where r.repo = ${repo}) +
    (select coalesce(sum(size), 0) from manifests where repo = ${repo}),
    (select count(*) from manifests where repo = ${repo}),
    (select coalesce(sum(manifests), 0) from repo_sizes where repo = ${repo})`)
  assert.equal(row?.[1], row?.[2])
  assert.equal(Number(shown ?? 0), row?.[0])
  return Number(shown ?? 0)
}

examples('tags of pushed images', {
  async 'show the size and the media type, and the platform that the configuration states'(stage) {
    const { repo, client } = await openRepo(stage)
    const manifest = await pushParts(client, repo, 'v1', { config: armV7, layers: ['a', 'bb'] })
    const size = String(manifest.length + armV7.length + 3)
    const image = { size, mediaType: types.manifest, platforms: ['linux/arm/v7'] }
    assert.deepEqual(await tagsOf(stage, repo), { v1: image })
    // Tags that the API creates or moves show the same.
    const digest = digestOf(manifest)
    await stage.succeed(createTag, { parent: repo, tag: { name: 'v2', digest } })
    const absent = { name: 'v3', digest: digestOf('absent') }
    const { uid } = await stage.succeed(createTag, { parent: repo, tag: absent })
    assert.deepEqual(await tagsOf(stage, repo), { v1: image, v2: image, v3: nothing })
    await stage.succeed(updateTag, { tag: { uid: uid as string, digest } })
    assert.deepEqual((await tagsOf(stage, repo)).v3, image)
    await stage.succeed(updateTag, { tag: { uid: uid as string, digest: digestOf('absent') } })
    assert.deepEqual((await tagsOf(stage, repo)).v3, nothing)
    // Callers cannot set the fields.
    const lie = { name: 'v4', digest: digestOf('other'), size: '7', mediaType: 'a/b', platforms: ['x/y'] }
    await stage.succeed(createTag, { parent: repo, tag: lie })
    assert.deepEqual((await tagsOf(stage, repo)).v4, nothing)
  },

  async 'count shared layers once if they name an index, and show the platforms of all its images'(stage) {
    const { repo, client } = await openRepo(stage)
    const parts = { layers: ['shared', 'shared too'] }
    const first = await pushParts(client, repo, '', { config: amd64, ...parts })
    const second = await pushParts(client, repo, '', { config: armV7, ...parts })
    const attestation = imageOf('shared', { config: descriptor('shared', 'application/x') })
    await client.pushManifest(repo, digestOf(attestation), attestation)
    const inner = indexOf([{ manifest: first, platform: { os: 'linux', architecture: 'amd64' } }])
    await client.pushManifest(repo, 'inner', inner, types.index)
    const index = indexOf([
      { manifest: inner, type: types.index },
      { manifest: second }, // its platform is that of its configuration
      { manifest: attestation, platform: { os: 'unknown', architecture: 'unknown' } },
      { manifest: first, platform: { os: 'linux,windows', architecture: '"><b>' } },
    ])
    await client.pushManifest(repo, 'latest', index, types.index)
    const texts = [index, inner, first, second, attestation, amd64, armV7, 'shared', 'shared too']
    const { latest } = await tagsOf(stage, repo)
    assert.deepEqual(latest, {
      size: String(texts.join('').length),
      mediaType: types.index,
      platforms: ['linux/amd64', 'linux/arm/v7'],
    })
  },

  async 'show an image that is pushed after the tag was created, and keep their update time'(stage) {
    const { repo, client } = await openRepo(stage)
    const manifest = imageOf('a', { config: descriptor(amd64, types.config) })
    const named = { name: 'early', digest: digestOf(manifest) }
    const { updateTime } = await stage.succeed(createTag, { parent: repo, tag: named })
    for (const blob of [amd64, 'a']) await client.pushBlob(repo, blob)
    await client.pushManifest(repo, digestOf(manifest), manifest)
    const { tags } = await stage.succeed(listTags, { name: 'early', uidp: { childrenOf: repo } })
    const [tag] = tags as (ShownTag & { updateTime: string })[]
    assert.deepEqual([tag?.platforms, tag?.updateTime], [['linux/amd64'], updateTime])
  },

  async 'have a history at the registry, also at the path with the vendor prefix'(stage) {
    const { repo, client } = await openRepo(stage)
    const digests: string[] = []
    for (const layer of ['a', 'b', 'a'])
      digests.push(digestOf(await pushParts(client, repo, 'v1', { config: amd64, layers: [layer] })))
    const read = async (path: string) => {
      const response = await client.expect(200, 'GET', `/v2/${repo}/${path}`)
      return ((await response.json()) as { history: { updateTimestamp: string; digest: string }[] }).history
    }
    const history = await read('_stemma/history/v1')
    assert.deepEqual(
      history.map(({ digest }) => digest),
      digests,
    )
    assert.deepEqual(await read('_chainguard/history/v1'), history)
    const [, second, third] = history
    const range = `start=${second?.updateTimestamp}&end=${third?.updateTimestamp}`
    assert.deepEqual(await read(`_stemma/history/v1?${range}`), [second])
    const errorOf = (path: string) => client.errorOf('GET', `/v2/${repo}/${path}`)
    assert.equal(await errorOf('_other/history/v1'), '404 UNSUPPORTED')
    assert.equal(await errorOf('_stemma/history/v2'), '404 MANIFEST_UNKNOWN')
    assert.equal(await errorOf('_stemma/history/v1?start=yesterday'), '400 UNSUPPORTED')
    const stranger = await stage.platform.addOrganization('stranger')
    const other = ociClient(stage.platform.url, stranger.token)
    assert.equal(await other.errorOf('GET', `/v2/${repo}/_stemma/history/v1`), '403 DENIED')

    // Entries older than the pushes; their digests are their times in milliseconds.
    await stage.platform.store.write(function* () {
      yield sql`with recursive counted(time) as (select 1 union all select time + 1 from counted where time < 1000)
        insert into tag_history (tag, update_time, digest)
        select t.uid, c.time, cast(c.time as text) from tags t cross join counted c where t.parent = ${repo}`
    })
    const newest = await read('_stemma/history/v1')
    assert.equal(newest.length, 1000)
    assert.deepEqual(newest.slice(-3), history)
    assert.equal(newest[0]?.digest, '4')
  },

  async 'have no platform if the configuration is hostile'(stage) {
    const { repo, client } = await openRepo(stage)
    const hostile = [
      'no JSON',
      '[]',
      'null',
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      JSON.stringify({ os: 1, architecture: ['amd64'], variant: null }),
      JSON.stringify({ os: 'linux', architecture: 'a'.repeat(65) }),
      JSON.stringify({ os: 'linux', architecture: 'amd64,linux/arm' }),
      JSON.stringify({ os: 'linux', architecture: 'amd64', history: 'x'.repeat(2 ** 20) }),
    ]
    for (const [at, config] of hostile.entries())
      await pushParts(client, repo, `v${at}`, { config, layers: [] })
    const shown = Object.values(await tagsOf(stage, repo)) as ShownTag[]
    assert.deepEqual(
      shown.map(({ platforms, mediaType }) => ({ platforms, mediaType })),
      hostile.map(() => ({ platforms: undefined, mediaType: types.manifest })),
    )
  },

  async 'never show the configuration of another organization'(stage) {
    const { repo, client } = await openRepo(stage)
    const secret = JSON.stringify({ os: 'plan9', architecture: stage.owner.organization })
    await client.pushBlob(repo, secret)
    const other = await stage.platform.addOrganization('other')
    const { uid } = await stage.succeed(
      createRepo,
      { parent: other.organization, repo: { name: 'spy' } },
      other.token,
    )
    const spy = ociClient(stage.platform.url, other.token)
    const manifest = imageOf('', { config: descriptor(secret, types.config), layers: [] })
    const [known, unknown] = [manifest, manifest.replace(digestOf(secret), digestOf('unknown'))]
    for (const body of [known, unknown])
      assert.equal(
        await spy.errorOf('PUT', `/v2/${uid}/manifests/v1`, {
          ...{ body, headers: { 'content-type': types.manifest } },
        }),
        '404 MANIFEST_BLOB_UNKNOWN',
      )
  },
})

examples('the size of a repo', {
  async 'counts each blob and manifest once, through every change'(stage) {
    const { repo, client } = await openRepo(stage)
    assert.equal(await checkedSize(stage, repo), 0)
    const first = await pushParts(client, repo, 'v1', { config: amd64, layers: ['a', 'shared'] })
    const size = first.length + amd64.length + 7
    assert.equal(await checkedSize(stage, repo), size)
    await pushParts(client, repo, 'v1', { config: amd64, layers: ['a', 'shared'] })
    const second = await pushParts(client, repo, 'v2', { config: amd64, layers: ['shared'] })
    assert.equal(await checkedSize(stage, repo), size + second.length)
    await client.expect(202, 'DELETE', `/v2/${repo}/manifests/${digestOf(first)}`)
    assert.equal(await checkedSize(stage, repo), size + second.length - first.length)
    await client.expect(202, 'DELETE', `/v2/${repo}/blobs/${digestOf('a')}`)
    assert.equal(await checkedSize(stage, repo), size + second.length - first.length - 1)
    // A mounted blob counts in both repos.
    const { repo: copy } = await openRepo(stage, 'copy')
    const mount = `/v2/${copy}/blobs/uploads/?mount=${digestOf('shared')}&from=${repo}`
    for (let time = 0; time < 2; time++) await client.expect(201, 'POST', mount)
    assert.equal(await checkedSize(stage, copy), 6)
    const { size: kept } = await stage.succeed(updateRepo, {
      repo: { uid: copy, description: 'x', size: '1' },
    })
    assert.equal(kept, '6')
    await stage.succeed(deleteRepo, { uid: copy })
    const rows = await stage.platform.store.query(sql`select 1 from repo_sizes where repo = ${copy}`)
    assert.deepEqual(rows, [])
  },

  async 'is exact after concurrent pushes'(stage) {
    const { repo, client } = await openRepo(stage)
    await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        pushParts(client, repo, `v${at}`, { config: amd64, layers: ['same', String(at % 6)] }),
      ),
    )
    assert.ok((await checkedSize(stage, repo)) > 0)
    await client.expect(202, 'DELETE', `/v2/${repo}/manifests/v0`)
    await checkedSize(stage, repo)
  },

  async 'is returned exactly, up to the largest safe integer'(stage) {
    const { repo } = await openRepo(stage)
    for (const size of [1, 127, 128, 16_383, 2 ** 31, 2 ** 42 + 5, 2 ** 49 + 3, Number.MAX_SAFE_INTEGER]) {
      await stage.platform.store.write(function* () {
        yield sql`delete from repo_sizes where repo = ${repo}`
        yield sql`insert into repo_sizes (repo, stripe, size, manifests) values (${repo}, 3, ${size}, 0)`
      })
      assert.equal((await stage.succeed(getRepo, { uid: repo })).size, String(size))
    }
  },
})
