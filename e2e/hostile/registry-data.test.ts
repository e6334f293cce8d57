// Attempts to reach repos of others through a sync configuration, and to store too much in repos.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const v1 = Registry.method
const { createRepo, updateRepo } = ReposService.method
const sourceOf = ({ sync_config }: JsonObject) => (sync_config as JsonObject).source

const makeRepo = (stage: ExampleContext, name: string) =>
  make(stage, createRepo, { parent: stage.owner.organization, repo: { name } })

/** An identity that may create, list and update repos in a new group, and nothing above it. */
async function editorOfGroup(stage: ExampleContext) {
  const { organization } = stage.owner
  const group = await make(stage, GroupsService.method.createGroup, {
    parent: organization,
    group: { name: 'team' },
  })
  const capabilities = ['CAP_REPO_CREATE', 'CAP_REPO_LIST', 'CAP_REPO_UPDATE'] as const
  return { group, token: (await stage.platform.addIdentityWith(group, [...capabilities])).token }
}

examples('the source of a repo', {
  async 'cannot be a repo of another organization or group; the error is the same as for a missing repo'(
    stage,
  ) {
    const { fail, owner, platform } = stage
    const secret = await makeRepo(stage, 'secret')
    const other = await platform.addOrganization('other')
    const { group, token } = await editorOfGroup(stage)
    const messages = new Set<string>()
    for (const [parent, caller, source] of [
      [other.organization, other.token, secret],
      [group, token, secret],
      [group, token, `${owner.organization}/${'0'.repeat(16)}`],
      [group, token, '0'.repeat(40)],
    ] as const) {
      const repo = { name: 'copy', sync_config: { source } }
      const error = await fail(createRepo, { parent, repo }, caller)
      assert.deepEqual(violations(error), ['syncConfig.source'])
      messages.add(error.message)
      const inV1 = await fail(v1.createRepo, { parentId: parent, repo }, caller)
      assert.deepEqual(violations(inV1), ['syncConfig.source'])
    }
    assert.equal(messages.size, 1)
  },

  async 'given as a name is stored unchanged if the repo is missing or the caller may not list it'(stage) {
    const { succeed } = stage
    await makeRepo(stage, 'secret')
    const { group, token } = await editorOfGroup(stage)
    for (const source of ['acme/secret', 'acme/missing']) {
      const repo = { name: source.replace('acme/', 'copy-of-'), sync_config: { source } }
      assert.equal(sourceOf(await succeed(createRepo, { parent: group, repo }, token)), source)
    }
  },

  async 'can be kept but not set again by a caller without access to it'(stage) {
    const { succeed, fail } = stage
    const source = await makeRepo(stage, 'source')
    const { group, token } = await editorOfGroup(stage)
    const repo = { name: 'copy', sync_config: { source } }
    const uid = await make(stage, createRepo, { parent: group, repo })
    const changed = { uid, description: 'still mine', sync_config: { source, amazon: 'ecr' } }
    assert.equal(sourceOf(await succeed(updateRepo, { repo: changed }, token)), source)
    const away = { uid, sync_config: { source: 'quay.io/acme/other' } }
    await succeed(updateRepo, { repo: away }, token)
    const error = await fail(updateRepo, { repo: { uid, sync_config: { source } } }, token)
    assert.deepEqual(violations(error), ['syncConfig.source'])
  },
})

examples('data of repos', {
  async 'is not checked for callers without access'({ fail, owner, platform }) {
    const stranger = await platform.addIdentity('')
    const parentId = owner.organization
    const wrong = { name: 'NO', sync_config: { source: 'a b' }, customOverlay: { environment: { 'a=': '' } } }
    assert.equal((await fail(v1.createRepo, { parentId, repo: wrong }, stranger.token)).code, 7)
    assert.equal((await fail(createRepo, { parent: parentId, repo: wrong }, stranger.token)).code, 7)
    const charts = [{ repo: 'javascript:alert(1)' }]
    assert.equal((await fail(v1.createDeployment, { parentId, charts }, stranger.token)).code, 7)
    const settings = { registryId: `${parentId}/${'0'.repeat(16)}` }
    assert.equal((await fail(v1.updateRegistrySettings, settings, stranger.token)).code, 7)
  },

  async 'is limited in size, in number and in total'(stage) {
    const { fail, owner, door } = stage
    const entries = (count: number, value = '') =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`K${at}`, value]))
    const users = Array.from({ length: 101 }, () => ({ username: 'a' }))
    for (const [field, customOverlay] of [
      ['environment', { environment: entries(201) }],
      ['annotations', { annotations: entries(201) }],
      ['accounts.users', { accounts: { users } }],
      ['contents.packages', { contents: { packages: Object.keys(entries(1001)) } }],
      ['certificates.providers', { certificates: { providers: Object.keys(entries(51)) } }],
      ['environment[K0]', { environment: entries(1, 'x'.repeat(4097)) }],
    ] as const) {
      const repo = { name: 'big', customOverlay } as unknown as JsonObject
      const error = await fail(createRepo, { parent: owner.organization, repo })
      assert.deepEqual(violations(error), [`customOverlay.${field}`])
    }
    // Over REST, a body of this size is refused before it is read.
    const value = 'x'.repeat(4096)
    const customOverlay = { environment: entries(200, value), annotations: entries(200, value) }
    if (door.name === 'REST') return
    const { error } = await door.call(
      createRepo,
      { parent: owner.organization, repo: { name: 'big', customOverlay } },
      owner.token,
    )
    assert.match(error?.message ?? '', /custom_overlay: is too large: the resource must have at most/)
  },

  async 'cannot be read with an invalid page size, filter or package name'({ fail, succeed }) {
    assert.deepEqual(violations(await fail(v1.listEolTags, { pageSize: '-1' })), ['pageSize'])
    assert.deepEqual(violations(await fail(v1.listEolTags, { uidp: { childrenOf: 'x' } })), [
      'uidp.childrenOf',
    ])
    const minimum = { pageSize: '-9223372036854775808' }
    assert.deepEqual(violations(await fail(v1.listEolTags, minimum)), ['pageSize'])
    await succeed(v1.listEolTags, { pageSize: '9223372036854775807' })
    assert.deepEqual(violations(await fail(v1.getPackageVersionMetadata, { package: 'x'.repeat(256) })), [
      'package',
    ])
  },
})
