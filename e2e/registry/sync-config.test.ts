// The sync configuration and the custom overlay of repos.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { getRepo, listRepos, createRepo, updateRepo, deleteRepo } = ReposService.method
const v1 = Registry.method
const day = 24 * 60 * 60 * 1000
const image = 'registry.example.com/library/nginx'

const makeRepo = (stage: ExampleContext, repo: JsonObject) =>
  make(stage, createRepo, { parent: stage.owner.organization, repo })
const syncConfigOf = (repo: JsonObject) => repo.sync_config as JsonObject

examples('the sync configuration of a repo', {
  async 'has computed fields, which callers cannot set'({ succeed, owner }) {
    const sent = { source: image, uniqueTags: true, gracePeriod: true, apkoOverlay: '{}', google: 'eu/acme' }
    const before = Date.now()
    const repo = await succeed(createRepo, {
      parent: owner.organization,
      repo: { name: 'nginx', sync_config: { ...sent, expirationTime: '2040-01-01T00:00:00Z' } },
    })
    const { expirationTime, ...config } = syncConfigOf(repo)
    assert.deepEqual(config, {
      ...{ source: image, google: 'eu/acme', amazon: '', azure: '' },
      ...{ uniqueTags: false, apkoOverlay: '', gracePeriod: false },
    })
    const lifetime = Date.parse(expirationTime as string) - before
    assert.ok(Math.abs(lifetime - 14 * day) < 60_000, '14 days after the creation')
    assert.match(expirationTime as string, /\.000Z$/, 'clients that store whole seconds can send it back')
    assert.deepEqual(await succeed(getRepo, { uid: repo.uid as string }), repo)
  },

  async 'is changed field by field, and keeps the fields that are computed'(stage) {
    const { succeed, fail } = stage
    const uid = await makeRepo(stage, { name: 'nginx', sync_config: { source: image } })
    const config = syncConfigOf(await succeed(getRepo, { uid }))
    const changed = await succeed(updateRepo, { repo: { uid, sync_config: { amazon: 'ecr/acme' } } })
    assert.deepEqual(syncConfigOf(changed), { ...config, amazon: 'ecr/acme' })
    const masked = await succeed(updateRepo, {
      repo: { uid, sync_config: { source: 'acme/other', azure: 'acr/acme' } },
      updateMask: 'syncConfig.azure',
    })
    assert.deepEqual(syncConfigOf(masked), { ...config, amazon: 'ecr/acme', azure: 'acr/acme' })
    const moved = await succeed(updateRepo, {
      repo: { uid, sync_config: { source: 'quay.io/acme/other' } },
      updateMask: 'syncConfig',
    })
    assert.deepEqual(syncConfigOf(moved), { ...config, source: 'quay.io/acme/other' })
    const removed = await succeed(updateRepo, { repo: { uid }, updateMask: 'syncConfig' })
    assert.equal(removed.sync_config, undefined)
    const withoutSource = { repo: { uid, sync_config: { google: 'eu/acme' } } }
    assert.deepEqual(violations(await fail(updateRepo, withoutSource)), ['syncConfig.source'])
  },

  async 'names its source repo by uid, or by organization and name, and stores the uid'(stage) {
    const { succeed, fail, owner } = stage
    const source = await makeRepo(stage, { name: 'tools/static' })
    const { uid: group } = await succeed(GroupsService.method.createGroup, {
      parent: owner.organization,
      group: { name: 'platform' },
    })
    const nested = await make(stage, createRepo, { parent: group as string, repo: { name: 'app' } })
    for (const [name, given, stored] of [
      ['by-uid', source, source],
      ['by-name', 'acme/tools/static', source],
      ['in-group', 'acme/platform/app', nested],
      ['missing', 'acme/platform/static', 'acme/platform/static'],
      ['elsewhere', 'quay.io/acme/tools/static', 'quay.io/acme/tools/static'],
      ['other-organization', 'other/tools/static', 'other/tools/static'],
      ['bare', 'nginx', 'nginx'],
    ] as const) {
      const uid = await makeRepo(stage, { name, sync_config: { source: given } })
      assert.equal(syncConfigOf(await succeed(getRepo, { uid })).source, stored, name)
    }
    const { repos } = await succeed(listRepos, { syncSource: source, orderBy: 'name' })
    assert.deepEqual(
      (repos as JsonObject[]).map(({ name }) => name),
      ['by-name', 'by-uid'],
    )
    const itself = await fail(updateRepo, { repo: { uid: source, sync_config: { source } } })
    assert.deepEqual(violations(itself), ['syncConfig.source'])
    for (const wrong of [
      owner.organization,
      `${source}/${'0'.repeat(16)}`,
      'nginx:latest',
      'a b',
      'Nginx',
      '/a',
    ]) {
      const repo = { name: 'wrong', sync_config: { source: wrong } }
      const error = await fail(createRepo, { parent: owner.organization, repo })
      assert.deepEqual(violations(error), ['syncConfig.source'], wrong)
    }
  },

  async 'starts with the registry settings of the organization, whatever the group of the repo'(stage) {
    const { succeed, owner } = stage
    const { uid: group } = await succeed(GroupsService.method.createGroup, {
      parent: owner.organization,
      group: { name: 'team' },
    })
    const before = await makeRepo(stage, { name: 'before', sync_config: { source: image } })
    const settings = { registryId: owner.organization, uniqueTags: true, eolGracePeriod: true }
    await succeed(v1.updateRegistrySettings, settings)
    const after = await make(stage, createRepo, {
      parent: group as string,
      repo: { name: 'after', sync_config: { source: image } },
    })
    const flags = async (uid: string) => {
      const { uniqueTags, gracePeriod } = syncConfigOf(await succeed(getRepo, { uid }))
      return [uniqueTags, gracePeriod]
    }
    assert.deepEqual(await flags(after), [true, true])
    assert.deepEqual(await flags(before), [false, false], 'settings are defaults, not overrides')
  },

  async 'is counted for its source, and only callers who may list the source get the count'(stage) {
    const { succeed, fail, owner, platform } = stage
    const source = await makeRepo(stage, { name: 'source' })
    const { uid: group } = await succeed(GroupsService.method.createGroup, {
      parent: owner.organization,
      group: { name: 'team' },
    })
    const count = async (token?: string) =>
      (await succeed(v1.getRepoCountBySource, { id: source }, token)).count
    assert.equal(await count(), '0')
    for (const name of ['a', 'b']) await makeRepo(stage, { name, sync_config: { source } })
    const inGroup = { parent: group as string, repo: { name: 'c', sync_config: { source } } }
    const uid = await make(stage, createRepo, inGroup)
    assert.equal(await count(), '3')
    await succeed(updateRepo, { repo: { uid }, updateMask: 'syncConfig' })
    assert.equal(await count(), '2')
    await succeed(deleteRepo, { uid: source })
    assert.equal(await count(), '2', 'repos still name the source after it was deleted')
    const inTeam = await platform.addIdentityWith(group as string, ['CAP_REPO_LIST'])
    assert.equal((await fail(v1.getRepoCountBySource, { id: source }, inTeam.token)).code, 7)
    assert.equal((await fail(v1.getRepoCountBySource, { id: 'x' })).code, 5)
  },
})

const overlay = {
  contents: {
    packages: ['curl', 'bash~5'],
    runtimeRepositories: ['https://apk.example.com'],
    runtimeKeyring: [{ name: 'acme.rsa.pub', content: '-----BEGIN PUBLIC KEY-----\nAA==\n' }],
  },
  environment: { LANG: 'C.UTF-8' },
  annotations: { 'com.example.team': 'web' },
  accounts: {
    runAs: 'web',
    users: [{ username: 'web', uid: 1000, gid: 0, groupName: 'web', shell: '/bin/sh', homeDir: '/home/web' }],
    groups: [{ groupname: 'web', gid: 1000, members: ['web'] }],
  },
  certificates: {
    additional: [{ name: 'acme.pem', content: '-----BEGIN CERTIFICATE-----\n' }],
    providers: ['ca-certificates'],
  },
}

examples('the custom overlay of a repo', {
  async 'is stored, changed in part and removed'(stage) {
    const { succeed } = stage
    const uid = await makeRepo(stage, { name: 'nginx', customOverlay: overlay })
    assert.deepEqual((await succeed(getRepo, { uid })).customOverlay, overlay)
    const changed = await succeed(updateRepo, {
      repo: { uid, customOverlay: { contents: { packages: ['git'] }, environment: { TZ: 'UTC' } } },
    })
    assert.deepEqual(changed.customOverlay, {
      ...overlay,
      contents: { ...overlay.contents, packages: ['git'] },
      environment: { TZ: 'UTC' },
    })
    const removed = await succeed(updateRepo, { repo: { uid }, updateMask: 'customOverlay' })
    assert.equal(removed.customOverlay, undefined)
  },

  async 'has the same content in v1, with the names of v1'(stage) {
    const { succeed, fail } = stage
    const uid = await makeRepo(stage, { name: 'nginx', customOverlay: overlay })
    const [repo] = (await succeed(v1.listRepos, { id: uid })).items as JsonObject[]
    const inV1 = repo?.customOverlay as JsonObject
    assert.deepEqual(inV1.accounts, {
      runAs: 'web',
      users: [
        { userName: 'web', uid: 1000, gid: 0, groupName: 'web', shell: '/bin/sh', homeDir: '/home/web' },
      ],
      groups: [{ groupName: 'web', gid: 1000, members: ['web'] }],
    })
    assert.deepEqual({ ...inV1, accounts: overlay.accounts }, overlay)
    assert.deepEqual((await succeed(v1.updateRepo, { ...repo, id: uid })).customOverlay, inV1)
    assert.deepEqual((await succeed(getRepo, { uid })).customOverlay, overlay)
    const users = [{ userName: 'nobody', uid: 4_294_967_295 }]
    const error = await fail(v1.updateRepo, { ...repo, id: uid, customOverlay: { accounts: { users } } })
    assert.match(
      error.message,
      /customOverlay\.accounts\.users\[0\]\.uid: must be from 0 to 2147483647|custom_overlay\.accounts\.users\[0\]\.uid: must be from 0 to 2147483647/,
    )
    const unnamed = { ...repo, id: uid, customOverlay: { accounts: { users: [{ uid: 1 }] } } }
    assert.deepEqual(violations(await fail(v1.updateRepo, unnamed)), [
      'customOverlay.accounts.users[0].userName',
    ])
  },

  async 'is refused with reserved names and with values that no image can have'({ fail, owner }) {
    for (const [field, customOverlay] of [
      ['environment[CHAINGUARD_X]', { environment: { CHAINGUARD_X: '1' } }],
      ['environment[A=B]', { environment: { 'A=B': '1' } }],
      ['environment[]', { environment: { '': '1' } }],
      ['environment[A\nB]', { environment: { 'A\nB': '1' } }],
      ['annotations[a\u0007]', { annotations: { 'a\u0007': '1' } }],
      ['annotations[dev.chainguard.x]', { annotations: { 'dev.chainguard.x': '1' } }],
      ['annotations[org.opencontainers.x]', { annotations: { 'org.opencontainers.x': '1' } }],
      ['contents.runtimeKeyring[0].name', { contents: { runtimeKeyring: [{ name: '../x', content: 'k' }] } }],
      ['certificates.additional[0].name', { certificates: { additional: [{ name: '.x', content: 'c' }] } }],
      ['accounts.users[0].uid', { accounts: { users: [{ username: 'a', uid: -1 }] } }],
      ['contents.packages[0]', { contents: { packages: ['a\nb'] } }],
    ] as const) {
      const repo = { name: 'nginx', customOverlay } as unknown as JsonObject
      const error = await fail(createRepo, { parent: owner.organization, repo })
      assert.deepEqual(violations(error), [`customOverlay.${field}`])
    }
  },
})
