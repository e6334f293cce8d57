// Summaries of tags, the update status of repos, and registry settings, which exist only in v1.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const v1 = Registry.method
const { createGroup, deleteGroup } = GroupsService.method
const { createRepo, deleteRepo } = ReposService.method
const { createTag, deleteTag } = TagsService.method

const digest = (character: string) => `sha256:${character.repeat(64)}`
const makeRepo = (stage: ExampleContext, name = 'nginx') =>
  make(stage, createRepo, { parent: stage.owner.organization, repo: { name } })

/** Creates tags, each given as its name and the character of its digest. */
async function makeTags(
  stage: ExampleContext,
  parent: string,
  tags: readonly [name: string, image: string][],
) {
  const uids: string[] = []
  for (const [name, image] of tags)
    uids.push(await make(stage, createTag, { parent, tag: { name, digest: digest(image) } }))
  return uids
}

examples('the summary of the tags of a repo', {
  async 'has the number of tags, the last change and the version of the latest image'(stage) {
    const { succeed } = stage
    const repoId = await makeRepo(stage)
    assert.deepEqual(await succeed(v1.getRepoTagsSummary, { repoId }), {
      ...{ id: repoId, tagCount: '0', latestVersion: '' },
    })
    const uids = await makeTags(stage, repoId, [
      ['latest', 'a'],
      ['1', 'a'],
      ['1.27', 'a'],
      ['latest-dev', 'a'],
      ['1.27.3-r10', 'a'],
      ['1.27.3-r10-20260131', 'a'],
      ['1.26.0-is-longer-than-all', 'b'],
      ['sha256-abc', 'a'],
    ])
    const summary = async (filter: JsonObject = {}): Promise<Record<string, unknown>> => {
      const { latestTag, lastUpdated, ...rest } = await succeed(v1.getRepoTagsSummary, { repoId, ...filter })
      return { ...rest, latest: (latestTag as JsonObject).name, lastUpdated: typeof lastUpdated }
    }
    const common = { id: repoId, latest: 'latest', lastUpdated: 'string' }
    assert.deepEqual(await summary(), { ...common, tagCount: '8', latestVersion: '1.27.3-r10-20260131' })
    assert.deepEqual(await summary({ excludeDates: true }), {
      ...{ ...common, tagCount: '7', latestVersion: 'sha256-abc' },
    })
    assert.deepEqual(await summary({ excludeDates: true, excludeReferrers: true }), {
      ...{ ...common, tagCount: '6', latestVersion: '1.27.3-r10' },
    })
    const excludeAll = { excludeDates: true, excludeReferrers: true, excludeEpochs: true }
    assert.deepEqual(await summary(excludeAll), { ...common, tagCount: '5', latestVersion: '1.27' })

    await succeed(deleteTag, { uid: uids[0] as string })
    const newest = await summary(excludeAll)
    assert.deepEqual([newest.latest, newest.latestVersion], ['1.26.0-is-longer-than-all', ''])
  },

  async 'has no version while the latest tag names no image'(stage) {
    const { succeed } = stage
    const repoId = await makeRepo(stage)
    await makeTags(stage, repoId, [['1.0', 'a']])
    await succeed(v1.createTag, { repoId, tag: { name: 'latest' } })
    const { tagCount, latestTag, latestVersion } = await succeed(v1.getRepoTagsSummary, { repoId })
    assert.deepEqual([tagCount, (latestTag as JsonObject).name, latestVersion], ['2', 'latest', ''])
  },

  async 'needs a repo that exists, and a caller who may list its tags'(stage) {
    const { succeed, fail, platform } = stage
    const [repoId, gone] = [await makeRepo(stage), await makeRepo(stage, 'gone')]
    await succeed(deleteRepo, { uid: gone })
    for (const method of [v1.getRepoTagsSummary, v1.getUpdateStatus]) {
      assert.equal((await fail(method, { repoId: gone })).code, 5)
      assert.equal((await fail(method, { repoId: 'x' })).code, 5)
      const lister = await platform.addIdentityWith(repoId.slice(0, 40), ['CAP_REPO_LIST'])
      for (const uid of [repoId, gone])
        assert.equal((await fail(method, { repoId: uid }, lister.token)).code, 7)
    }
  },
})

examples('the update status of a repo', {
  async 'says whether a tag was created, moved or changed in the last 24 hours'(stage) {
    const { succeed, platform } = stage
    const repoId = await makeRepo(stage)
    const status = async () => (await succeed(v1.getUpdateStatus, { repoId })).recentlyUpdated
    assert.equal(await status(), false)
    const [uid = ''] = await makeTags(stage, repoId, [['latest', 'a']])
    assert.equal(await status(), true)
    const setAge = (hours: number) =>
      platform.store.write(function* () {
        const time = Date.now() - hours * 60 * 60 * 1000
        yield sql`update tags set update_time = ${time} where uid = ${uid}`
      })
    await setAge(23)
    assert.equal(await status(), true)
    await setAge(25)
    assert.equal(await status(), false)
  },
})

examples('registry settings', {
  async 'have defaults, and are replaced as a whole'({ succeed, owner }) {
    const registryId = owner.organization
    const defaults = { registryId, uniqueTags: false, eolGracePeriod: false }
    assert.deepEqual(await succeed(v1.getRegistrySettings, { registryId }), defaults)
    for (const settings of [{ uniqueTags: true, eolGracePeriod: true }, { eolGracePeriod: true }, {}]) {
      const expected = { ...defaults, ...settings }
      assert.deepEqual(await succeed(v1.updateRegistrySettings, { registryId, ...settings }), expected)
      assert.deepEqual(await succeed(v1.getRegistrySettings, { registryId }), expected)
    }
  },

  async 'belong to an organization, and are deleted with it'(stage) {
    const { succeed, fail, platform } = stage
    const organization = await make(stage, createGroup, { group: { name: 'short-lived' } })
    const group = await make(stage, createGroup, { parent: organization, group: { name: 'team' } })
    for (const method of [v1.getRegistrySettings, v1.updateRegistrySettings]) {
      const error = await fail(method, { registryId: group })
      assert.deepEqual(violations(error), ['registryId'])
      assert.equal((await fail(method, { registryId: 'x' })).code, 5)
    }
    await succeed(v1.updateRegistrySettings, { registryId: organization, uniqueTags: true })
    await succeed(deleteGroup, { uid: group })
    await succeed(deleteGroup, { uid: organization })
    const rows = await platform.store.query(
      sql`select 1 from registry_settings where organization = ${organization}`,
    )
    assert.deepEqual(rows, [])
    assert.equal((await fail(v1.getRegistrySettings, { registryId: organization })).code, 7)
  },
})
