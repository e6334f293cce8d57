// ExplainAccess: why an identity has access, or what is missing and who could grant it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '@bufbuild/protobuf'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../../server/aip/code.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'
import { addExternalGroup, addMember, suspend } from './external-access.ts'

const { explainAccess, checkAccess } = AccessService.method
const { createGroup, setGroupLimits } = GroupsService.method

type Level = { group: { uid: string; name: string }; sources: Source[]; hidden: boolean }
type Source = {
  roleBindingUid: string
  role: { name: string }
  capabilities: string[]
  externalGroup?: { externalGroupId: string }
  expireTime?: string
  suspended: boolean
}
type Explanation = {
  allowed: boolean
  rule: string
  capabilities: { capability: string; state: string; roleBindingUids: string[]; expireTime?: string }[]
  path: Level[]
  limits?: JsonObject
  sufficientRoles: string[]
  grantors: { uid: string; name: string }[]
  hidden: boolean
}

/**
 * Uses `door.call`, because `succeed` would compare the responses of both doors, and the order of
 * the lists in them depends on random uids. Also asserts that CheckAccess decides the same.
 */
async function explain(
  { door, owner }: ExampleContext,
  question: JsonObject,
  token = owner.token,
): Promise<Explanation> {
  const { body, error } = await door.call(explainAccess, question, token)
  assert.ok(body, error?.message)
  const check = await door.call(checkAccess, question, token)
  const { allowed, expireTime } = body
  assert.deepEqual({ allowed, ...(expireTime && { expireTime }) }, check.body)
  return body as unknown as Explanation
}

const makeTeam = (stage: ExampleContext, parent = stage.owner.organization) =>
  make(stage, createGroup, { parent, group: { name: 'team' } })

const pathOf = ({ path }: Explanation) =>
  path.map(({ group, sources, hidden }) => [
    ...[group.name || group.uid, sources.map(({ role, capabilities }) => [role.name, ...capabilities])],
    ...(hidden ? ['hidden'] : []),
  ])

const statesOf = ({ capabilities }: Explanation) => capabilities.map(({ state }) => state)

examples('ExplainAccess', {
  async 'shows the role bindings on the way from the organization to the resource'(stage) {
    const { platform, owner } = stage
    const team = await makeTeam(stage)
    const { identity } = await platform.addIdentity(owner.organization, 'viewer')
    await platform.bind(identity, 'editor', team)
    const question = { identity, capability: 'groups.list', resource: `${team}/${'0'.repeat(16)}` }
    const granted = await explain(stage, question)
    assert.deepEqual(pathOf(granted), [
      ['acme', [['viewer', 'groups.list']]],
      ['team', [['editor', 'groups.list']]],
      [`${team}/${'0'.repeat(16)}`, []],
    ])
    assert.deepEqual(statesOf(granted), ['CAPABILITY_STATE_HELD'])
    const uids = granted.path.flatMap(({ sources }) => sources.map(({ roleBindingUid }) => roleBindingUid))
    assert.deepEqual(granted.capabilities[0]?.roleBindingUids.toSorted(), uids.toSorted())
    assert.deepEqual([granted.rule, granted.hidden, granted.grantors], ['ACCESS_RULE_ROLES', false, []])
  },

  async 'says what is missing, which roles would suffice and who could grant them'(stage) {
    const { platform, owner } = stage
    const team = await makeTeam(stage)
    const { identity, token } = await platform.addIdentity(owner.organization, 'viewer', team)
    const helper = await platform.addIdentity(owner.organization, 'owner', team)
    await platform.addIdentity(owner.organization, 'editor', team)
    const question = { identity, capability: 'groups.delete', resource: team }
    const asOwner = await explain(stage, question)
    assert.deepEqual(statesOf(asOwner), ['CAPABILITY_STATE_MISSING'])
    assert.deepEqual(pathOf(asOwner), [
      ['acme', []],
      ['team', [['viewer']]],
    ])
    assert.deepEqual(asOwner.sufficientRoles, ['owner'])
    const grantors = [
      { uid: helper.identity, name: 'test' },
      { uid: owner.identity, name: 'owner' },
    ]
    assert.deepEqual(
      asOwner.grantors.map(({ uid, name }) => ({ uid, name })),
      grantors,
    )
    // In the team, the viewer sees the grantor of the team, and only the uid of the owner above it.
    const asViewer = await explain(stage, { ...question, identity }, token)
    assert.deepEqual(
      asViewer.grantors.map(({ uid, name }) => ({ uid, name })),
      grantors.map(({ uid, name }) => ({ uid, name: uid === owner.identity ? '' : name })),
    )
    assert.deepEqual([asOwner.hidden, asViewer.hidden], [false, true])
    // The limits of the team are set with a role above it, which the owner of the team cannot give.
    const ofLimits = await explain(stage, {
      identity,
      method: describeMethod(setGroupLimits).name,
      resource: team,
    })
    assert.deepEqual(
      ofLimits.grantors.map(({ uid }) => uid),
      [owner.identity],
    )
    const stranger = await platform.addIdentity('')
    const asStranger = await explain(stage, { capability: 'groups.delete', resource: team }, stranger.token)
    assert.deepEqual([asStranger.grantors, asStranger.hidden], [[], true])
    assert.deepEqual(pathOf(asStranger), [
      [owner.organization, []],
      [team, []],
    ])
  },

  async 'leaves out role bindings that the caller may not see, and says so'(stage) {
    const { platform, owner, fail } = stage
    const team = await makeTeam(stage)
    const { token } = await platform.addIdentity(owner.organization, 'viewer', team)
    const question = { identity: owner.identity, capability: 'groups.delete', resource: team }
    const explained = await explain(stage, question, token)
    assert.deepEqual([explained.allowed, explained.hidden], [true, true])
    assert.deepEqual(explained.capabilities[0]?.roleBindingUids, [])
    assert.deepEqual(pathOf(explained), [
      [owner.organization, [], 'hidden'],
      ['team', []],
    ])
    const above = await fail(explainAccess, { ...question, resource: owner.organization }, token)
    assert.equal(above.code, Code.PERMISSION_DENIED)
    const { token: foreign } = await platform.addOrganization('elsewhere')
    assert.equal((await fail(explainAccess, question, foreign)).code, Code.PERMISSION_DENIED)
    assert.deepEqual(violations(await fail(explainAccess, { capability: 'x', resource: team })), [
      'capability',
    ])
  },

  async 'names the limits of the token that exclude a capability'(stage) {
    const { platform, owner } = stage
    const { identity, organization } = owner
    const team = await makeTeam(stage)
    const token = await mintToken(
      { keys: platform.keys, authUrl: platform.config.authUrl, now: Date.now, random: randomBytes },
      {
        identity,
        audience: platform.config.baseUrl,
        limits: { scopes: [team], capabilities: ['groups.list'] },
      },
    )
    const limits = { scopes: [team], capabilities: ['groups.list'], allowsNothing: false }
    for (const [capability, resource, state] of [
      ['groups.list', team, 'HELD'],
      ['groups.list', organization, 'OUTSIDE_TOKEN'],
      ['groups.delete', team, 'OUTSIDE_TOKEN'],
    ] as const) {
      const explained = await explain(stage, { capability, resource }, token)
      assert.deepEqual(statesOf(explained), [`CAPABILITY_STATE_${state}`])
      assert.deepEqual([explained.limits, explained.grantors], [limits, []])
      assert.equal(explained.path[0]?.sources[0]?.role.name, 'owner')
    }
  },

  async 'says if the limits of the token allow nothing'(stage) {
    const { door, owner, platform, succeed } = stage
    const [team, other] = [await makeTeam(stage), await makeTeam(stage)]
    const { token } = await platform.addIdentity(owner.organization, 'viewer')
    const exchanged = async (request: JsonObject, bearer: string) =>
      (await door.call(SecurityTokenService.method.exchange, request, bearer)).body?.token as string
    const limited = await exchanged({ scopes: [team], cap: ['groups.list'] }, token)
    const limits = { scopes: [], capabilities: [], allowsNothing: true }
    for (const request of [{ scopes: [other] }, { cap: ['roles.list'] }]) {
      const useless = await exchanged(request, limited)
      const explained = await explain(stage, { capability: 'groups.list', resource: team }, useless)
      assert.deepEqual(statesOf(explained), ['CAPABILITY_STATE_OUTSIDE_TOKEN'])
      assert.deepEqual(explained.limits, limits)
      const reach = await succeed(AccessService.method.listReach, {}, useless)
      assert.deepEqual([reach.entries, reach.limits], [[], limits])
    }
  },

  async 'names external groups, the end of memberships, and suspensions'(stage) {
    const { platform, owner } = stage
    const provider = await addExternalGroup(stage, owner.organization, 'editor')
    const member = await platform.addUser('ada@example.com')
    const until = Date.now() + 60_000
    await addMember(stage, provider, member.identity, until)
    const question = { identity: member.identity, capability: 'repo.create', resource: owner.organization }
    const granted = await explain(stage, question)
    const [source] = granted.path[0]?.sources ?? []
    assert.deepEqual(
      [source?.externalGroup?.externalGroupId, source?.expireTime, source?.suspended],
      ['developers', new Date(until).toISOString(), false],
    )
    assert.equal(granted.capabilities[0]?.expireTime, new Date(until).toISOString())
    await suspend(stage, provider, member.identity, owner.organization)
    const refused = await explain(stage, question)
    assert.deepEqual(statesOf(refused), ['CAPABILITY_STATE_SUSPENDED'])
    assert.equal(refused.path[0]?.sources[0]?.suspended, true)
    assert.deepEqual(refused.grantors, [], 'a role would not help')
  },

  async 'names the rule that decides about a method'(stage) {
    const { owner, platform } = stage
    const { identity } = await platform.addIdentity(owner.organization)
    const owned = { resource: owner.organization }
    const ownerRole = { resource: builtInRole('owner').uid }
    for (const [method, question, rule, states] of [
      [createGroup, {}, 'ORGANIZATION_CREATION', []],
      [setGroupLimits, owned, 'OPERATOR', []],
      [GroupsService.method.listGroups, {}, 'NO_CAPABILITY', []],
      [AccountService.method.getAccount, {}, 'SELF', []],
      [AccountService.method.getAccount, { ...owned, identity }, 'SELF', []],
      [IdentitiesService.method.updateIdentityMetadata, { ...owned, identity }, 'SELF', []],
      [RolesService.method.getRole, ownerRole, 'ROLES_ANYWHERE', ['CAPABILITY_STATE_HELD']],
    ] as const) {
      const explained = await explain(stage, { method: describeMethod(method).name, ...question })
      assert.deepEqual([explained.rule, statesOf(explained)], [`ACCESS_RULE_${rule}`, states])
    }
  },
})
