// Repos and tags through v1, compared with v2.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoSchema, ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { repos } from '../../server/resources/registry/repos/table.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'

const v1 = Registry.method
const v2 = { ...ReposService.method, ...TagsService.method }

const digest = (character: string) => `sha256:${character.repeat(64)}`
const itemsOf = (list: JsonObject) => list.items as JsonObject[]
const namesIn = (list: JsonObject) => itemsOf(list).map(({ name }) => name)

const fullRepo = {
  name: 'nginx',
  catalogTier: 'FIPS',
  bundles: ['base', 'fips'],
  readme: '# nginx',
  aliases: ['docker.io/library/nginx:latest'],
  activeTags: ['latest'],
  description: 'serves pages',
}
const emptyFields = {
  catalogTier: 'UNKNOWN',
  bundles: [],
  readme: '',
  aliases: [],
  activeTags: [],
  description: '',
}

const makeRepo = ({ succeed, owner }: ExampleContext, repo: JsonObject = fullRepo) =>
  succeed(v1.createRepo, { parentId: owner.organization, repo })

examples('repos of v1', {
  async 'are the same resources as in v2, with their readmes'(stage) {
    const { succeed, owner } = stage
    const { id, createTime, ...rest } = await makeRepo(stage)
    const uid = id as string
    assert.deepEqual(rest, fullRepo)
    assert.ok(uid.startsWith(`${owner.organization}/`))
    const { catalogTier, description } = await succeed(v2.getRepo, { uid })
    assert.deepEqual([catalogTier, description], ['CATALOG_TIER_FIPS', 'serves pages'])
    assert.deepEqual(await succeed(v2.getRepoReadme, { uid }), { uid, content: '# nginx' })
    assert.deepEqual(await succeed(v1.listRepos, { id: uid }), { items: [{ id, createTime, ...fullRepo }] })
    assert.deepEqual(await succeed(v1.deleteRepo, { id: uid }), {})
    assert.deepEqual(await succeed(v1.listRepos, { id: uid }), { items: [] })
    assert.deepEqual(await checkTally(stage.platform.store, talliedKinds, false), [])
  },

  async 'every catalog tier of v1 converts to the tier of that name in v2'(stage) {
    for (const tier of ['APPLICATION', 'BASE', 'FIPS', 'AI', 'DEVTOOLS', 'COMMERCIAL']) {
      const name = tier.toLowerCase()
      const { id, catalogTier } = await makeRepo(stage, { name, catalogTier: tier })
      assert.equal(catalogTier, tier)
      const repo = await stage.succeed(v2.getRepo, { uid: id as string })
      assert.equal(repo.catalogTier, `CATALOG_TIER_${tier}`)
    }
    for (const catalogTier of [1, 3, 10]) {
      const repo = { name: 'odd', catalogTier }
      const request = { parentId: stage.owner.organization, repo }
      // `door.call`, because `fail` would compare the messages of the two doors, which differ here.
      const { error } = await stage.door.call(v1.createRepo, request, stage.owner.token)
      assert.match(error?.message ?? '', /^Invalid argument: catalog_?[tT]ier: must be one of/)
    }
  },

  async 'an update replaces all fields'(stage) {
    const { succeed, fail } = stage
    const { id, createTime } = await makeRepo(stage)
    const update = { id: id as string, name: 'renamed' }
    assert.deepEqual(await succeed(v1.updateRepo, update), { ...update, createTime, ...emptyFields })
    assert.equal((await succeed(v2.getRepoReadme, { uid: id as string })).content, '')
    assert.deepEqual(violations(await fail(v1.updateRepo, { id: id as string })), ['name'])
    const harmful = { ...update, readme: '<script>alert(1)</script>' }
    assert.deepEqual(violations(await fail(v1.updateRepo, harmful)), ['readme'])
    assert.equal((await fail(v1.updateRepo, { ...update, id: `${id}/${'0'.repeat(16)}` })).code, 5)
  },

  async 'creating an existing repo updates the given fields, unless preventExisting is set'(stage) {
    const { succeed, fail, owner } = stage
    const parentId = owner.organization
    const made = await makeRepo(stage)
    assert.deepEqual(await makeRepo(stage, { name: 'nginx' }), made)
    const again = { name: 'nginx', description: 'serves more', readme: '# more' }
    assert.deepEqual(await makeRepo(stage, again), { ...made, ...again })
    assert.deepEqual(itemsOf(await succeed(v1.listRepos, { name: 'nginx' })), [{ ...made, ...again }])
    const prevented = await fail(v1.createRepo, { parentId, repo: { name: 'nginx' }, preventExisting: true })
    assert.equal(prevented.code, 6)
    const harmful = { name: 'nginx', readme: '<script>alert(1)</script>' }
    assert.deepEqual(violations(await fail(v1.createRepo, { parentId, repo: harmful })), ['readme'])
  },

  async 'a caller who may only create cannot change an existing repo'(stage) {
    const { owner, platform, fail, succeed } = stage
    const made = await makeRepo(stage)
    const request = { parentId: owner.organization, repo: { name: 'nginx', description: 'mine' } }
    const creator = await platform.addIdentityWith(owner.organization, ['CAP_REPO_CREATE'])
    assert.equal((await fail(v1.createRepo, request, creator.token)).code, 6)
    const lister = await platform.addIdentityWith(owner.organization, ['CAP_REPO_CREATE', 'CAP_REPO_LIST'])
    assert.equal((await fail(v1.createRepo, request, lister.token)).code, 7)
    assert.deepEqual(await succeed(v1.listRepos, { name: 'nginx' }), { items: [made] })
  },

  async 'an unsafe readme is refused and nothing is created'({ succeed, fail, owner }) {
    const repo = { name: 'bad', readme: '<script>alert(1)</script>' }
    const error = await fail(v1.createRepo, { parentId: owner.organization, repo })
    assert.deepEqual(violations(error), ['readme'])
    assert.deepEqual(await succeed(v1.listRepos, { name: 'bad' }), { items: [] })
  },

  async 'lists contain every match that the caller may see'({ succeed, owner, platform }) {
    // More than the largest page of v2, which has 200 items.
    const columns = { readme: '', retention_time: 0, public_since: 0 }
    const many = Array.from({ length: 203 }, (_, at) => {
      const uid = `${owner.organization}/${at.toString(16).padStart(16, '0')}`
      return [create(RepoSchema, { name: `r${at}` }), { uid, now: Date.now(), columns }] as const
    })
    await platform.store.write(() => createMany(repos, many))
    const uidp = { childrenOf: owner.organization }
    assert.equal(itemsOf(await succeed(v1.listRepos, { uidp })).length, 203)
    assert.deepEqual(namesIn(await succeed(v1.listRepos, { uidp, name: 'r7' })), ['r7'])
    const stranger = await platform.addIdentity('')
    assert.deepEqual(await succeed(v1.listRepos, { uidp }, stranger.token), { items: [] })
  },
})

examples('tags of v1', {
  async 'are the same resources as in v2'(stage) {
    const { succeed, fail } = stage
    const repoId = (await makeRepo(stage)).id as string
    const tag = { name: 'latest', digest: digest('a'), deprecated: false, bundles: ['base'] }
    const { id, lastUpdated, ...rest } = await succeed(v1.createTag, { repoId, tag })
    assert.deepEqual(rest, tag)
    assert.equal((await succeed(v2.getTag, { uid: id as string })).updateTime, lastUpdated)
    const moved = await succeed(v1.createTag, { repoId, tag: { ...tag, digest: digest('b') } })
    assert.deepEqual([moved.id, moved.digest], [id, digest('b')])
    assert.deepEqual(await succeed(v1.listTags, { id: id as string }), { items: [moved] })
    assert.deepEqual(await succeed(v1.deleteTag, { id: id as string }), {})
    assert.deepEqual(await succeed(v1.listTags, { id: id as string }), { items: [] })
    assert.equal((await fail(v1.deleteTag, { id: id as string })).code, 5)
    assert.deepEqual(violations(await fail(v1.createTag, { repoId, tag: { name: 'x', digest: 'y' } })), [
      'digest',
    ])
    assert.deepEqual(violations(await fail(v1.createTag, { tag })), ['repoId'])
  },

  async 'a caller who may only create cannot move or change an existing tag'(stage) {
    const { succeed, fail, owner, platform } = stage
    const repoId = (await makeRepo(stage)).id as string
    const { token } = await platform.addIdentityWith(owner.organization, ['CAP_TAG_CREATE'])
    const tag = { name: 'latest', digest: digest('a') }
    await succeed(v1.createTag, { repoId, tag }, token)
    assert.equal((await fail(v1.createTag, { repoId, tag: { ...tag, digest: digest('b') } }, token)).code, 7)
    assert.equal((await fail(v1.createTag, { repoId, tag: { name: 'latest' } }, token)).code, 7)
  },

  async 'refusals to move an immutable tag have no error details'(stage) {
    const { succeed, fail, owner } = stage
    const repo = { name: 'releases', immutableTags: ['v*'] }
    const repoId = await make(stage, v2.createRepo, { parent: owner.organization, repo })
    const tag = { name: 'v1', digest: digest('a') }
    const id = (await succeed(v1.createTag, { repoId, tag })).id as string
    const moved = { ...tag, digest: digest('b') }
    const errors = [
      await fail(v1.createTag, { repoId, tag: moved }),
      await fail(v1.updateTag, { id, ...moved }),
    ]
    for (const error of errors) {
      assert.deepEqual([error.code, detail(error, 'PreconditionFailure')], [9, undefined])
      assert.match(error.message, /tag v1 cannot be moved/)
    }
  },

  async 'an update replaces all fields, except an omitted digest, and is recorded in the history'(stage) {
    const { succeed, fail } = stage
    const repoId = (await makeRepo(stage)).id as string
    const tag = { name: 'latest', digest: digest('a'), deprecated: true, bundles: ['base'] }
    const id = (await succeed(v1.createTag, { repoId, tag })).id as string
    const update = { id, name: 'newest', digest: digest('b') }
    const { lastUpdated, ...updated } = await succeed(v1.updateTag, update)
    assert.deepEqual(updated, { ...update, deprecated: false, bundles: [] })
    const history = itemsOf(await succeed(v1.listTagHistory, { parentId: id }))
    assert.deepEqual(
      history.map((entry) => entry.digest),
      [digest('b'), digest('a')],
    )
    assert.equal(history[0]?.updateTimestamp, lastUpdated)
    const withoutDigest = await succeed(v1.updateTag, { id, name: 'newest', bundles: ['fips'] })
    assert.deepEqual([withoutDigest.digest, withoutDigest.bundles], [digest('b'), ['fips']])
    assert.deepEqual(violations(await fail(v1.updateTag, { id, digest: digest('b') })), ['name'])
    await succeed(v1.createTag, { repoId, tag })
    assert.equal((await fail(v1.updateTag, { ...update, name: 'latest' })).code, 6)
  },

  async 'are all listed, unless a filter excludes tags with a date or build number, or tags of referrers'(
    stage,
  ) {
    const { succeed } = stage
    const repoId = (await makeRepo(stage)).id as string
    const names = ['1.2', '1.2-20260131', '1.2-r3', 'sha256-abc']
    for (const name of names) await succeed(v1.createTag, { repoId, tag: { name, digest: digest('a') } })
    const listed = async (filter: JsonObject) =>
      namesIn(await succeed(v1.listTags, { uidp: { childrenOf: repoId }, ...filter })).sort()
    assert.deepEqual(await listed({}), names)
    assert.deepEqual(await listed({ excludeDates: true }), ['1.2', '1.2-r3', 'sha256-abc'])
    assert.deepEqual(await listed({ excludeEpochs: true }), ['1.2', '1.2-20260131', 'sha256-abc'])
    assert.deepEqual(await listed({ excludeReferrers: true }), ['1.2', '1.2-20260131', '1.2-r3'])
    const excludeAll = { excludeReferrers: true, excludeDates: true, excludeEpochs: true }
    assert.deepEqual(await listed(excludeAll), ['1.2'])
    assert.deepEqual(await listed({ digest: digest('b') }), [])
    assert.deepEqual(await listed({ updatedSince: '2999-01-01T00:00:00Z' }), [])
  },
})
