// The calls that infrastructure tools such as Terraform make for repos, tags and deployments: create, read, change each
// field, delete, read again.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'

const v1 = Registry.method
const v2 = { ...ReposService.method, ...TagsService.method }

const image = 'cgr.dev/chainguard/nginx'
const digest = (character: string) => `sha256:${character.repeat(64)}`
const itemsOf = (list: JsonObject) => list.items as JsonObject[]

/** Reads a repo or tag as the tool does: with a list that has exactly one item. */
async function readOne(stage: ExampleContext, method: typeof v1.listRepos | typeof v1.listTags, id: string) {
  const items = itemsOf(await stage.succeed(method, { id }))
  assert.equal(items.length, 1)
  return items[0] as JsonObject
}

const makeRepo = async ({ succeed, owner }: ExampleContext, repo: JsonObject = { name: 'nginx' }) =>
  succeed(v1.createRepo, { parentId: owner.organization, repo })
const syncConfigOf = (repo: JsonObject) => repo.sync_config as JsonObject

examples('a repo with a sync configuration', {
  async 'returns the computed fields, and what was sent, in every reply'(stage) {
    const { succeed, owner } = stage
    const sync_config = { source: image, amazon: 'ecr/acme', google: 'gar/acme', azure: 'acr/acme' }
    const repo = { name: 'nginx', description: 'serves', bundles: ['base'], catalogTier: 'BASE', sync_config }
    const created = await makeRepo(stage, repo)
    const { expiration, ...rest } = syncConfigOf(created)
    assert.deepEqual(rest, {
      ...sync_config,
      ...{ uniqueTags: false, syncApks: false, apkoOverlay: '', gracePeriod: false },
    })
    assert.ok(Date.parse(expiration as string) > Date.now())
    const id = created.id as string
    assert.deepEqual(await readOne(stage, v1.listRepos, id), created)

    // If the configuration of the tool sets no expiration, the tool sends the one that it has
    // saved, in whole seconds.
    const sentExpiration = (expiration as string).replace('.000Z', 'Z')
    const resent = await succeed(v1.updateRepo, {
      ...{ id, ...repo },
      sync_config: { ...sync_config, expiration: sentExpiration },
    })
    assert.deepEqual(resent, created, 'nothing has changed')

    for (const change of [
      { source: 'cgr.dev/chainguard/static' },
      { expiration: '2031-02-03T04:05:06.000Z' },
      { gracePeriod: true },
      { amazon: '' },
      { google: 'gar/other' },
      { azure: 'acr/other' },
      { apkoOverlay: '{"contents": {"packages": ["curl"]}}' },
    ] as JsonObject[]) {
      const current = syncConfigOf(await readOne(stage, v1.listRepos, id))
      const updated = await succeed(v1.updateRepo, { id, ...repo, sync_config: { ...current, ...change } })
      assert.deepEqual(syncConfigOf(updated), { ...current, ...change })
      assert.deepEqual(await readOne(stage, v1.listRepos, id), updated)
    }
    const { expirationTime, gracePeriod, apkoOverlay } = syncConfigOf(await succeed(v2.getRepo, { uid: id }))
    assert.equal(expirationTime, '2031-02-03T04:05:06.000Z')
    assert.equal(gracePeriod, true)
    assert.equal(apkoOverlay, '{"contents": {"packages": ["curl"]}}')

    const minimal = await succeed(v1.updateRepo, { id, name: 'nginx', sync_config: { source: image } })
    assert.deepEqual(syncConfigOf(minimal), {
      ...{ source: image, amazon: '', google: '', azure: '', apkoOverlay: '', syncApks: false },
      ...{ uniqueTags: false, gracePeriod: false, expiration: '2031-02-03T04:05:06.000Z' },
    })
    const removed = await succeed(v1.updateRepo, { id, name: 'nginx' })
    assert.equal(removed.sync_config, undefined)
    assert.deepEqual(await succeed(v1.deleteRepo, { id }), {})
    assert.deepEqual(await succeed(v1.listRepos, { id }), { items: [] })
    assert.deepEqual(await succeed(v1.listRepos, { uidp: { childrenOf: owner.organization } }), { items: [] })
  },

  async 'is created with the expiration and grace period that the configuration states'(stage) {
    const { succeed, owner } = stage
    const stated = { source: image, expiration: '2031-02-03T04:05:06.000Z', gracePeriod: true }
    const config = syncConfigOf(await makeRepo(stage, { name: 'nginx', sync_config: stated }))
    assert.deepEqual([config.expiration, config.gracePeriod], [stated.expiration, true])
    await succeed(v1.updateRegistrySettings, { registryId: owner.organization, eolGracePeriod: true })
    const other = syncConfigOf(await makeRepo(stage, { name: 'static', sync_config: { source: image } }))
    assert.equal(other.gracePeriod, true, 'the default of the organization')
  },

  async 'starts with the grace period of the organization when an update adds the configuration'(stage) {
    const { succeed, owner } = stage
    await succeed(v1.updateRegistrySettings, { registryId: owner.organization, eolGracePeriod: true })
    const id = (await makeRepo(stage)).id as string
    const update = async (config: JsonObject) => {
      const repo = { id, name: 'nginx', sync_config: { source: image, ...config } }
      return syncConfigOf(await succeed(v1.updateRepo, repo)).gracePeriod
    }
    assert.equal(await update({}), true)
    assert.equal(await update({ gracePeriod: false }), false, 'a later update replaces it')
    assert.equal(await update({ gracePeriod: true }), true)
  },

  async 'keeps what a second create does not state'(stage) {
    const stated = { source: image, expiration: '2031-02-03T04:05:06.000Z', gracePeriod: true, amazon: 'ecr' }
    const created = await makeRepo(stage, { name: 'nginx', sync_config: stated })
    const again = await makeRepo(stage, { name: 'nginx', sync_config: { source: image, azure: 'acr' } })
    assert.deepEqual(syncConfigOf(again), { ...syncConfigOf(created), azure: 'acr' })
    assert.deepEqual(await makeRepo(stage, { name: 'nginx' }), again)
  },

  async 'is refused with a value that is empty, is too long or contains control characters'(stage) {
    const { owner, fail } = stage
    for (const [field, value] of [
      ['apkoOverlay', 'x'.repeat(65_537)],
      ['apkoOverlay', 'a\u0001'],
      ['source', ''],
      ['source', `a/${'x'.repeat(511)}`],
      ['amazon', 'x'.repeat(513)],
      ['google', 'a\nb'],
      ['azure', 'a\u0007'],
    ] as const) {
      const repo = { name: 'nginx', sync_config: { source: image, [field]: value } }
      const error = await fail(v1.createRepo, { parentId: owner.organization, repo })
      assert.deepEqual(violations(error), [`syncConfig.${field}`])
    }
  },
})

examples('a tag without a digest', {
  async 'is created, read, changed and deleted as tools do'(stage) {
    const { succeed } = stage
    const repoId = (await makeRepo(stage)).id as string
    const tag = { name: 'latest', bundles: ['application', 'fips'] }
    const created = await succeed(v1.createTag, { repoId, tag })
    const { id, lastUpdated } = created
    assert.deepEqual(created, { id, lastUpdated, digest: '', deprecated: false, ...tag } as JsonObject)
    assert.ok(lastUpdated)
    assert.deepEqual(await readOne(stage, v1.listTags, id as string), created)
    for (const change of [{ bundles: ['base'] }, { deprecated: true }, { name: 'newest' }] as JsonObject[]) {
      const current = await readOne(stage, v1.listTags, id as string)
      const { lastUpdated: before, ...fields } = current
      const updated = await succeed(v1.updateTag, { ...fields, ...change })
      assert.deepEqual({ ...updated, lastUpdated: before as string }, { ...current, ...change } as JsonObject)
      assert.deepEqual(await readOne(stage, v1.listTags, id as string), updated)
    }
    assert.deepEqual(await succeed(v1.deleteTag, { id: id as string }), {})
    assert.deepEqual(await succeed(v1.listTags, { id: id as string }), { items: [] })
    assert.equal((await stage.fail(v1.listTagHistory, { parentId: id as string })).code, 5)
  },

  async 'has no history until it gets a digest, which cannot be removed afterwards'(stage) {
    const { succeed, fail } = stage
    const repoId = (await makeRepo(stage)).id as string
    const id = (await succeed(v1.createTag, { repoId, tag: { name: 'latest' } })).id as string
    assert.deepEqual(await succeed(v1.listTagHistory, { parentId: id }), { items: [] })
    const absent = await succeed(v2.getTag, { uid: id })
    assert.deepEqual(Object.keys(absent).includes('digest'), false, 'v2 leaves the digest out')
    const changed = await succeed(v2.updateTag, { tag: { uid: id, deprecated: true } })
    assert.deepEqual([changed.digest, changed.deprecated], [undefined, true])
    assert.deepEqual(await succeed(v1.listTagHistory, { parentId: id }), { items: [] })
    assert.equal((await succeed(v2.listTags, { uidp: { childrenOf: repoId } })).totalCount, '1')
    assert.equal((await succeed(v2.listTags, { digest: digest('a') })).totalCount, '0')

    const pushed = await succeed(v2.createTag, {
      parent: repoId,
      tag: { name: 'latest', digest: digest('a') },
    })
    assert.deepEqual([pushed.uid, pushed.digest], [id, digest('a')])
    assert.equal(itemsOf(await succeed(v1.listTagHistory, { parentId: id })).length, 1)
    const again = await succeed(v1.createTag, { repoId, tag: { name: 'latest', bundles: ['base'] } })
    assert.deepEqual([again.id, again.digest, again.bundles], [id, digest('a'), ['base']])
    for (const updateMask of ['digest', '*']) {
      const removal = { tag: { uid: id, name: 'latest' }, updateMask }
      assert.deepEqual(violations(await fail(v2.updateTag, removal)), ['digest'])
    }
    assert.equal((await succeed(v2.getTag, { uid: id })).digest, digest('a'))
  },

  async 'cannot be created with v2, where the digest is required'(stage) {
    const { fail, owner, platform } = stage
    const parent = (await makeRepo(stage)).id as string
    const error = await fail(v2.createTag, { parent, tag: { name: 'latest' } })
    assert.match(error.message, /digest: is required and must be sha256:/)
    const stranger = await platform.addIdentity('')
    const request = { repoId: parent, tag: { name: 'latest' } }
    assert.equal((await fail(v1.createTag, request, stranger.token)).code, 7)
    const reader = await platform.addIdentityWith(owner.organization, ['CAP_TAG_LIST'])
    assert.equal((await fail(v1.createTag, request, reader.token)).code, 7)
  },
})

examples('a deployment', {
  async 'is created, read, changed and deleted as tools do'(stage) {
    const { succeed, fail } = stage
    const id = (await makeRepo(stage)).id as string
    assert.deepEqual(await succeed(v1.getDeployment, { repoId: id }), { id, charts: [] })
    const podinfo = {
      repo: 'oci://ghcr.io/stefanprodan/charts/podinfo',
      source: 'https://github.com/x/podinfo',
    }
    const kyverno = { repo: 'https://kyverno.github.io/kyverno/', chart: 'kyverno' }
    const created = await succeed(v1.createDeployment, { parentId: id, charts: [podinfo] })
    assert.deepEqual(created, { id, charts: [podinfo] })
    assert.deepEqual(await succeed(v1.getDeployment, { repoId: id }), created)

    // A second create fails. A tool then updates the deployment instead.
    assert.equal((await fail(v1.createDeployment, { parentId: id, charts: [kyverno] })).code, 6)
    for (const charts of [
      [kyverno, podinfo],
      [{ ...kyverno, source: '' }],
      [{ repo: 'http://charts.test' }],
    ]) {
      assert.deepEqual(await succeed(v1.updateDeployment, { repoId: id, charts }), { id, charts })
      assert.deepEqual(await succeed(v1.getDeployment, { repoId: id }), { id, charts })
    }
    const empty = { id, charts: [] }
    assert.deepEqual(await succeed(v1.updateDeployment, { repoId: id, charts: [] }), empty)
    assert.deepEqual(await succeed(v1.updateDeployment, { repoId: id, charts: [] }), empty)
    assert.deepEqual(await succeed(v1.getDeployment, { repoId: id }), empty)
    assert.deepEqual(await succeed(v1.createDeployment, { parentId: id, charts: [kyverno] }), {
      ...{ id, charts: [kyverno] },
    })
  },

  async 'is deleted with its repo, and does not exist without one'(stage) {
    const { succeed, fail, owner, platform } = stage
    const id = (await makeRepo(stage)).id as string
    const charts = [{ repo: 'oci://charts.test/static' }]
    await succeed(v1.createDeployment, { parentId: id, charts })
    await succeed(v1.deleteRepo, { id })
    const rows = await platform.store.query(sql`select 1 from repo_deployments where repo = ${id}`)
    assert.deepEqual(rows, [])
    assert.equal((await fail(v1.getDeployment, { repoId: id })).code, 5)
    assert.equal((await fail(v1.updateDeployment, { repoId: id, charts })).code, 5)
    assert.equal((await fail(v1.createDeployment, { parentId: id, charts })).code, 5)
    assert.equal((await fail(v1.createDeployment, { parentId: owner.organization, charts })).code, 5)
  },

  async 'is refused with too many charts or a wrong address'(stage) {
    const { fail } = stage
    const id = (await makeRepo(stage)).id as string
    const chart = { repo: 'oci://charts.test/static' }
    for (const [field, charts] of [
      ['charts', []],
      ['charts', Array.from({ length: 51 }, () => chart)],
      ['charts[0].repo', [{}]],
      ['charts[1].repo', [chart, { repo: 'file:///etc' }]],
      ['charts[0].repo', [{ repo: `https://${'x'.repeat(2048)}` }]],
      ['charts[0].source', [{ ...chart, source: 'javascript:alert(1)' }]],
      ['charts[0].source', [{ ...chart, source: 'https://a b' }]],
      ['charts[0].chart', [{ ...chart, chart: 'x'.repeat(256) }]],
      ['charts[0].chart', [{ ...chart, chart: 'a\nb' }]],
    ] as const) {
      const request = { charts: charts as unknown as JsonObject[] }
      assert.deepEqual(violations(await fail(v1.createDeployment, { parentId: id, ...request })), [field])
      if (charts.length > 0)
        assert.deepEqual(violations(await fail(v1.updateDeployment, { repoId: id, ...request })), [field])
    }
  },

  async 'has an entity tag while it exists, so that a change of another caller is not overwritten'(stage) {
    const { platform, owner } = stage
    const id = (await makeRepo(stage)).id as string
    // With `fetch`, because `succeed` and `fail` cannot send headers.
    const put = async (charts: JsonObject[], ifMatch?: string) => {
      const response = await fetch(`${platform.url}/registry/v1/repos/${id}/deployment`, {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${owner.token}`,
          'content-type': 'application/json',
          ...(ifMatch && { 'if-match': ifMatch }),
        },
        body: JSON.stringify({ charts }),
      })
      await response.arrayBuffer()
      return { status: response.status, etag: response.headers.get('etag') ?? '' }
    }
    const [one, two] = [[{ repo: 'oci://charts.test/one' }], [{ repo: 'oci://charts.test/two' }]]
    assert.equal((await put(one, '*')).status, 412, 'there is no deployment yet')
    const first = await put(one)
    assert.deepEqual(await put(one), first, 'nothing has changed')
    const second = await put(two, first.etag)
    assert.equal(second.status, 200)
    assert.equal((await put(one, first.etag)).status, 412)
    assert.deepEqual(await put([], second.etag), { status: 200, etag: '' })
  },
})
