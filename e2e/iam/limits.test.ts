// docs/specification.md, Limits of groups.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'
import { createIn } from './matrix-context.ts'
import { setLimits } from './operator-limits.ts'

const { getGroup, createGroup, updateGroup, deleteGroup, setGroupLimits, getGroupUsage } =
  GroupsService.method
const { createRepo, updateRepo, deleteRepo, listRepos } = ReposService.method
const { createTag } = TagsService.method
const { batchCreateRoleBindings, listRoleBindings } = RoleBindingsService.method

const viewer = builtInRole('viewer').uid
const digest = `sha256:${'a'.repeat(64)}`

const newGroup = (stage: ExampleContext, parent: string) =>
  make(stage, createGroup, { parent, group: { name: 'team' } })
const repo = (parent: string, name: string) => ({ parent, repo: { name } })
const usageOf = async ({ succeed }: ExampleContext, uid: string, kind: string, token?: string) => {
  const { kinds } = await succeed(getGroupUsage, { uid }, token)
  return (kinds as JsonObject[]).find((usage) => usage.kind === kind)
}

/** For each kind that the owner of a group can create by a call: the name of its message. */
const createdByCall: Record<string, string> = {
  ...{ identities: 'Identity', roles: 'Role', role_bindings: 'RoleBinding', repos: 'Repo', tags: 'Tag' },
  ...{ identity_providers: 'IdentityProvider', group_invites: 'GroupInvite', advisories: 'Advisory' },
  ...{ account_associations: 'AccountAssociation', subscriptions: 'Subscription' },
  external_group_role_mappings: 'ExternalGroupRoleMapping',
}

examples('limits of groups', {
  async 'a create above the limit is refused with the limit, the usage and the group'(stage) {
    const { succeed, fail, owner, platform } = stage
    const { organization } = owner
    await setLimits(platform.store, organization, { repos: 2 })
    const group = await newGroup(stage, organization)
    await succeed(createRepo, repo(organization, 'a'))
    await succeed(createRepo, repo(group, 'b'))
    const error = await fail(createRepo, repo(group, 'c'))
    assert.equal(error.code, 8)
    assert.match(
      error.message,
      /^Resource exhausted: group [0-9a-f]{40} may contain at most 2 repos and contains 2/,
    )
    const [violation] = detail(error, 'QuotaFailure')?.violations as JsonObject[]
    const { description, ...rest } = violation as JsonObject
    assert.ok(error.message.endsWith(description as string))
    assert.deepEqual(rest, {
      ...{ subject: `group:${organization}`, quotaMetric: 'repos', quotaId: 'resource_limits' },
      ...{ quotaDimensions: { group: organization, used: '2' }, quotaValue: '2' },
    })
    assert.equal(detail(error, 'RetryInfo'), undefined)
    assert.equal((await succeed(listRepos, {})).totalCount, '2')
  },

  async 'every kind can be limited'(stage) {
    const { succeed, owner, platform, door } = stage
    const { organization } = owner
    const { kinds } = await succeed(getGroupUsage, { uid: organization })
    const names = (kinds as { kind: string }[]).map(({ kind }) => kind)
    // Groups have their own test below, access requests are made by people outside the organization, and content is
    // pushed (e2e/registry/oci-quota.test.ts).
    const others = ['groups', 'group_access_requests', 'registry_mebibytes']
    assert.deepEqual(names, [...Object.keys(createdByCall), ...others].sort())
    for (const [kind, resource] of Object.entries(createdByCall)) {
      const here = await newGroup(stage, organization)
      const context = { platform, door, owner, organization, here }
      await setLimits(platform.store, organization, { [kind]: 0 })
      await assert.rejects(createIn(context, resource), /Resource exhausted/, kind)
      await setLimits(platform.store, organization, {})
      // The second door would create the same advisory id again: ids are made of the first random
      // bytes, and the counter that replaces randomness in these tests changes only the last ones.
      if (kind === 'advisories') continue
      await createIn({ ...context, here: await newGroup(stage, organization) }, resource)
    }
  },

  async 'a limit on groups counts the groups of every level below'(stage) {
    const { fail, owner, platform } = stage
    await setLimits(platform.store, owner.organization, { groups: 2 })
    const first = await newGroup(stage, owner.organization)
    const second = await newGroup(stage, first)
    assert.equal((await fail(createGroup, { parent: second, group: { name: 'a' } })).code, 8)
    assert.equal((await fail(createGroup, { parent: owner.organization, group: { name: 'a' } })).code, 8)
  },

  async 'deleting a resource makes room at once, and updating is never refused'(stage) {
    const { succeed, fail, owner, platform } = stage
    const { organization } = owner
    await setLimits(platform.store, organization, { repos: 1 })
    for (let round = 0; round < 5; round++) {
      const uid = await make(stage, createRepo, repo(organization, 'a'))
      assert.equal((await fail(createRepo, repo(organization, 'b'))).code, 8)
      await succeed(updateRepo, { repo: { uid, name: 'renamed' } })
      await succeed(deleteRepo, { uid })
    }
    assert.equal((await usageOf(stage, organization, 'repos'))?.used, '0')
  },

  async 'moving an existing tag at the limit succeeds, and a new tag is refused'(stage) {
    const { succeed, fail, owner, platform } = stage
    await setLimits(platform.store, owner.organization, { tags: 1 })
    const parent = await make(stage, createRepo, repo(owner.organization, 'images'))
    await succeed(createTag, { parent, tag: { name: 'latest', digest } })
    await succeed(createTag, { parent, tag: { name: 'latest', digest: `sha256:${'b'.repeat(64)}` } })
    assert.equal((await fail(createTag, { parent, tag: { name: 'v1', digest } })).code, 8)
  },

  async 'a limit below the usage deletes nothing, and allows nothing more until enough is deleted'(stage) {
    const { succeed, fail, owner, platform } = stage
    const { organization } = owner
    const uids = []
    for (const name of ['a', 'b', 'c']) uids.push(await make(stage, createRepo, repo(organization, name)))
    await setLimits(platform.store, organization, { repos: 1 })
    const usage = await usageOf(stage, organization, 'repos')
    assert.deepEqual([usage?.used, usage?.limit, usage?.available], ['3', 1, '0'])
    for (const uid of uids) {
      assert.equal((await fail(createRepo, repo(organization, 'd'))).code, 8)
      await succeed(deleteRepo, { uid })
    }
    await succeed(createRepo, repo(organization, 'd'))
  },

  async 'a batch of role bindings is created as a whole or not at all'(stage) {
    const { succeed, fail, owner, platform } = stage
    const { organization } = owner
    const group = await newGroup(stage, organization)
    await succeed(setGroupLimits, { uid: group, resourceLimits: { role_bindings: 3 } })
    const identities = await Promise.all([1, 2, 3, 4].map(() => platform.addIdentity(organization)))
    const requests = identities.map(({ identity }) => ({ roleBinding: { identityUid: identity } }))
    const error = await fail(batchCreateRoleBindings, { parent: group, requests, roleUid: viewer })
    assert.equal(error.code, 8)
    assert.equal((await succeed(listRoleBindings, { group })).totalCount, '0')
    await succeed(batchCreateRoleBindings, { parent: group, requests: requests.slice(1), roleUid: viewer })
    assert.equal((await usageOf(stage, group, 'role_bindings'))?.available, '0')
  },

  async 'owners set limits of groups below their own, not higher than the nearest limit above'(stage) {
    const { succeed, fail, owner, platform } = stage
    await setLimits(platform.store, owner.organization, { repos: 10 })
    const group = await newGroup(stage, owner.organization)
    const before = await succeed(getGroup, { uid: group })
    const limited = await succeed(setGroupLimits, {
      uid: group,
      resourceLimits: { repos: 5, roleBindings: 7 },
    })
    assert.deepEqual(limited.resourceLimits, { repos: 5, role_bindings: 7 })
    assert.ok((limited.updateTime as string) > (before.updateTime as string))
    assert.deepEqual(await succeed(getGroup, { uid: group }), limited)
    const error = await fail(setGroupLimits, { uid: group, resourceLimits: { repos: 11 } })
    assert.deepEqual([error.code, violations(error)], [3, ['resourceLimits[repos]']])
    assert.match(error.message, /must be at most 10, the limit of group /)
    const inner = await newGroup(stage, group)
    assert.match(
      (await fail(setGroupLimits, { uid: inner, resourceLimits: { repos: 6 } })).message,
      /must be at most 5/,
    )
    const remaining = await succeed(setGroupLimits, { uid: group, remove: ['repos'] })
    assert.deepEqual(remaining.resourceLimits, { role_bindings: 7 })
    await succeed(setGroupLimits, { uid: inner, resourceLimits: { repos: 6 } })
  },

  async 'an outer limit holds even if an inner one would allow more'(stage) {
    const { succeed, fail, owner, platform } = stage
    const group = await newGroup(stage, owner.organization)
    await succeed(setGroupLimits, { uid: group, resourceLimits: { repos: 5 } })
    await setLimits(platform.store, owner.organization, { repos: 1 })
    await succeed(createRepo, repo(group, 'a'))
    assert.match((await fail(createRepo, repo(group, 'b'))).message, /at most 1 repos/)
    assert.equal((await usageOf(stage, group, 'repos'))?.limitGroupUid, owner.organization)
  },

  async 'after a limit of a group above was reduced, the other limits can still be changed'(stage) {
    const { succeed, fail, owner, platform } = stage
    await setLimits(platform.store, owner.organization, { repos: 100 })
    const group = await newGroup(stage, owner.organization)
    await succeed(setGroupLimits, { uid: group, resourceLimits: { repos: 80, roles: 3 } })
    await setLimits(platform.store, owner.organization, { repos: 50 })
    const added = await succeed(setGroupLimits, { uid: group, resourceLimits: { groups: 5 } })
    assert.deepEqual(added.resourceLimits, { groups: 5, repos: 80, roles: 3 })
    const removed = await succeed(setGroupLimits, { uid: group, remove: ['roles'] })
    assert.deepEqual(removed.resourceLimits, { groups: 5, repos: 80 })
    const error = await fail(setGroupLimits, { uid: group, resourceLimits: { repos: 79 } })
    assert.deepEqual([error.code, violations(error)], [3, ['resourceLimits[repos]']])
  },

  async 'owners of a group can change neither its own limits nor those of an organization'(stage) {
    const { fail, succeed, owner, platform } = stage
    const group = await newGroup(stage, owner.organization)
    const inner = await newGroup(stage, group)
    const lead = await platform.addIdentity(group, 'owner')
    const denied = await fail(setGroupLimits, { uid: group, resourceLimits: { repos: 1 } }, lead.token)
    assert.deepEqual(
      [denied.code, detail(denied, 'ErrorInfo')?.metadata],
      [7, { permission: 'groups.update', resource: owner.organization }],
    )
    await succeed(setGroupLimits, { uid: inner, resourceLimits: { repos: 1 } }, lead.token)
    const error = await fail(setGroupLimits, { uid: owner.organization, resourceLimits: { repos: 1 } })
    assert.deepEqual(
      [error.code, detail(error, 'ErrorInfo')?.metadata],
      [7, { permission: 'operator', field: 'resource_limits', resource: owner.organization }],
    )
  },

  async 'a limit with an invalid number or an unknown kind is refused, and the error names it'(stage) {
    const { succeed, fail, owner } = stage
    const uid = await newGroup(stage, owner.organization)
    for (const [name, limit, text] of [
      ['repos', -1, /must be a whole number from 0 to 2147483647/],
      ['clusters', 5, /is not a kind of resource that can be limited/],
      ['repo', 5, /did you mean repos\?/],
      ['__proto__x', 5, /is not a kind/],
      ['', 5, /is not a kind/],
    ] as const) {
      const error = await fail(setGroupLimits, { uid, resourceLimits: { [name]: limit } })
      assert.deepEqual([error.code, violations(error)], [3, [`resourceLimits[${name}]`]])
      assert.match(error.message, text)
    }
    for (const [request, field, text] of [
      [{}, 'resourceLimits', /is required unless the field remove is set/],
      [{ remove: ['repos', 'clusters'] }, 'remove[1]', /must be one of account_associations, /],
      [
        { resourceLimits: { repos: 1 }, remove: ['repositories'] },
        'remove[0]',
        /must not be in resource_?[lL]imits as well/,
      ],
    ] as const) {
      const error = await fail(setGroupLimits, { uid, ...request } as JsonObject)
      assert.deepEqual([error.code, violations(error)], [3, [field]])
      assert.match(error.message, text)
    }
    const twice = await fail(setGroupLimits, { uid, resourceLimits: { repos: 1, repositories: 2 } })
    assert.match(twice.message, /names the limit repos/)
    assert.deepEqual(
      (await succeed(setGroupLimits, { uid, resourceLimits: { idps: 2147483647, repositories: 0 } }))
        .resourceLimits,
      { identity_providers: 2147483647, repos: 0 },
    )
  },

  async 'version 1 shows limits under its own names'(stage) {
    const { succeed, owner } = stage
    const uid = await newGroup(stage, owner.organization)
    await succeed(setGroupLimits, { uid, resourceLimits: { identity_providers: 1, repos: 2, groups: 3 } })
    const { items } = await succeed(Groups.method.list, { id: uid })
    assert.deepEqual((items as JsonObject[])[0]?.resourceLimits, { groups: 3, idps: 1, repositories: 2 })
  },

  async 'a call of version 1 is limited like one of version 2'(stage) {
    const { fail, owner, platform } = stage
    await setLimits(platform.store, owner.organization, { groups: 0 })
    const error = await fail(Groups.method.create, { parent: owner.organization, group: { name: 'a' } })
    assert.equal(error.code, 8)
    assert.ok(detail(error, 'QuotaFailure'))
  },

  async 'an update of a group keeps its limits, also with the mask *'(stage) {
    const { succeed, owner } = stage
    const uid = await newGroup(stage, owner.organization)
    await succeed(setGroupLimits, { uid, resourceLimits: { repos: 2 } })
    const group = { uid, name: 'renamed', resourceLimits: { repos: 100 } }
    const updated = await succeed(updateGroup, { group, updateMask: '*' })
    assert.deepEqual(updated.resourceLimits, { repos: 2 })
  },

  async 'the usage shows each kind with the limit that is reached first'(stage) {
    const { succeed, fail, owner, platform } = stage
    const { organization } = owner
    await setLimits(platform.store, organization, { repos: 3, tags: 9 })
    const group = await newGroup(stage, organization)
    await succeed(setGroupLimits, { uid: group, resourceLimits: { repos: 2 } })
    await succeed(createRepo, repo(organization, 'a'))
    await succeed(createRepo, repo(group, 'b'))
    assert.deepEqual(await usageOf(stage, group, 'repos'), {
      ...{ kind: 'repos', used: '1', limit: 2, available: '1', limitGroupUid: group, limitUsed: '1' },
      defaultLimit: false,
    })
    assert.deepEqual(await usageOf(stage, group, 'tags'), {
      ...{ kind: 'tags', used: '0', limit: 9, available: '9', limitGroupUid: organization, limitUsed: '0' },
      defaultLimit: false,
    })
    assert.deepEqual(await usageOf(stage, group, 'roles'), { kind: 'roles', used: '0', defaultLimit: false })
    assert.equal((await fail(getGroupUsage, { uid: `${organization}/${'0'.repeat(16)}` })).code, 5)
  },

  async 'the limits of a group are deleted with it'(stage) {
    const { succeed, owner, platform } = stage
    const uid = await newGroup(stage, owner.organization)
    await succeed(setGroupLimits, { uid, resourceLimits: { repos: 2 } })
    await succeed(deleteGroup, { uid })
    assert.deepEqual(await platform.store.query(sql`select kind from tally where place = ${uid}`), [])
  },
})
