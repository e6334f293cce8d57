// Who may do what: a row for each method, a column for each sort of caller, and the code that they must get.
import { randomBytes } from 'node:crypto'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groupAccessRequests } from '../../server/resources/iam/group-access-requests/table.ts'
import type { Door } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'

export const callers = [
  'no token',
  'bad token',
  "other organization's owner",
  'viewer here',
  'editor here',
  'owner here',
  'owner above',
] as const

export type CallerName = (typeof callers)[number]

/** A group for the calls to be about, made anew for each of them. */
export type Scene = {
  platform: Platform
  door: Door
  owner: TestIdentity
  organization: string
  here: string
}

type Codes = readonly [number, number, number, number, number, number, number]

export type MatrixRow = {
  request(scene: Scene): JsonObject | Promise<JsonObject>
  /** In the order of the callers; 0 is success. */
  codes: Codes
  /** What a list must hold, for callers who get one: the number of results. */
  visible?: readonly number[]
}

const readers: Codes = [16, 16, 7, 0, 0, 0, 0]
const editors: Codes = [16, 16, 7, 7, 0, 0, 0]
const owners: Codes = [16, 16, 7, 7, 7, 0, 0]
const everyone: Codes = [0, 0, 0, 0, 0, 0, 0]
const anyone: Codes = [16, 16, 0, 0, 0, 0, 0]
const list = { codes: anyone, visible: [0, 0, 0, 1, 1, 1, 1] }

const viewerRole = builtInRole('viewer').uid

const identity = { name: 'robot', claimMatch: { issuer: 'https://issuer.test', subject: 'robot' } }
const role = { name: 'lister', capabilities: ['CAP_IAM_GROUPS_LIST'] }
const provider = {
  name: 'sso',
  defaultRole: viewerRole,
  oidc: { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'a secret' },
}
const association = { name: 'accounts', amazon: { account: '123456789012' } }
const repo = { name: 'static-base' }
const tag = { name: 'latest', digest: `sha256:${'0'.repeat(64)}` }
const subscription = { sink: 'https://hooks.test/events' }
const advisory = { artifactName: 'static', artifactType: 'apk', aliases: ['CVE-2026-12345'] }
const event = { pendingUpstreamFix: { note: 'reported' } }
const invite = { roleUid: viewerRole, ttl: '3600s' }

async function make({ door, owner }: Scene, method: DescMethod, request: JsonObject): Promise<string> {
  const { body, error } = await door.call(method, request, owner.token)
  if (!body) throw new Error(`${method.name} failed: ${error?.message}`)
  return body.uid as string
}

const makeIdentity = (scene: Scene) =>
  make(scene, IdentitiesService.method.createIdentity, { parent: scene.here, identity })
const makeRole = (scene: Scene) => make(scene, RolesService.method.createRole, { parent: scene.here, role })
const makeBinding = async (scene: Scene) =>
  make(scene, RoleBindingsService.method.createRoleBinding, {
    parent: scene.here,
    roleBinding: { identityUid: await makeIdentity(scene), roleUid: viewerRole },
  })
const makeProvider = (scene: Scene) =>
  make(scene, IdentityProvidersService.method.createIdentityProvider, {
    parent: scene.here,
    identityProvider: provider,
  })
const makeAssociation = (scene: Scene) =>
  make(scene, AccountAssociationsService.method.createAccountAssociation, {
    parent: scene.here,
    accountAssociation: association,
  })
const makeInvite = (scene: Scene) =>
  make(scene, GroupInvitesService.method.createGroupInvite, { parent: scene.here, groupInvite: invite })

/** Somebody asks to be let in: made in the store, since only a verified organization can be asked. */
async function makeAccessRequest({ platform, here }: Scene): Promise<string> {
  const user = await platform.addIdentity('')
  const uid = newChildUid(here, Date.now(), randomBytes)
  const facts = { uid, now: Date.now(), columns: { identity: user.identity } }
  await platform.store.write(() => createEntry(groupAccessRequests, create(GroupAccessRequestSchema), facts))
  return uid
}

const makeRepo = (scene: Scene) => make(scene, ReposService.method.createRepo, { parent: scene.here, repo })
const makeTag = async (scene: Scene) =>
  make(scene, TagsService.method.createTag, { parent: await makeRepo(scene), tag })

const makeSubscription = (scene: Scene) =>
  make(scene, SubscriptionsService.method.createSubscription, { parent: scene.here, subscription })

/** An advisory with its uid and that of its event, as v1 answers them. */
async function makeAdvisory({ door, owner, here }: Scene): Promise<{ id: string; event: string }> {
  const request = { parentId: here, advisory: { ...advisory, events: [event] } }
  const { body, error } = await door.call(Advisories.method.create, request, owner.token)
  if (!body) throw new Error(`Create failed: ${error?.message}`)
  const [first] = body.events as { id: string }[]
  return { id: body.id as string, event: first?.id ?? '' }
}
const makeAdvisoryUid = async (scene: Scene) => (await makeAdvisory(scene)).id

type Maker = (scene: Scene) => Promise<string>

const get = (maker: Maker): MatrixRow => ({
  request: async (scene) => ({ uid: await maker(scene) }),
  codes: readers,
})
const lists = (maker: Maker): MatrixRow => ({
  request: async (scene) => ({ uidp: { ids: [await maker(scene)] } }),
  ...list,
})
const creates = (field: string, resource: JsonObject): MatrixRow => ({
  request: ({ here }) => ({ parent: here, [field]: resource }),
  codes: owners,
})
const updates = (maker: Maker, field: string, change: JsonObject): MatrixRow => ({
  request: async (scene) => ({ [field]: { uid: await maker(scene), ...change } }),
  codes: owners,
})
const deletes = (maker: Maker): MatrixRow => ({
  request: async (scene) => ({ uid: await maker(scene) }),
  codes: owners,
})

const roleOfV1 = { name: 'lister', capabilities: ['groups.list'] }
const bindingOfV1 = async (scene: Scene) => ({ identity: await makeIdentity(scene), role: viewerRole })

const createsOfV1 = (resource: JsonObject): MatrixRow => ({
  request: ({ here }) => ({ parentId: here, ...resource }),
  codes: owners,
})
const listsOfV1 = (maker: Maker, filter = 'id'): MatrixRow => ({
  request: async (scene) => ({ [filter]: await maker(scene) }),
  ...list,
})
const changesOfV1 = (maker: Maker, change: JsonObject = {}, field = 'id'): MatrixRow => ({
  request: async (scene) => ({ [field]: await maker(scene), ...change }),
  codes: owners,
})

export const matrix: Record<string, MatrixRow> = {
  'platform.iam.v2beta1.GroupsService.GetGroup': {
    request: ({ here }) => ({ uid: here }),
    codes: readers,
  },
  'platform.iam.v2beta1.GroupsService.ListGroups': {
    request: ({ here }) => ({ uidp: { ids: [here] } }),
    ...list,
  },
  'platform.iam.v2beta1.GroupsService.CreateGroup': creates('group', { name: 'new' }),
  'platform.iam.v2beta1.GroupsService.UpdateGroup': {
    request: ({ here }) => ({ group: { uid: here, name: 'changed' } }),
    codes: owners,
  },
  // Those who may delete are told what the group still holds: the bindings that let them.
  'platform.iam.v2beta1.GroupsService.DeleteGroup': {
    request: ({ here }) => ({ uid: here }),
    codes: [16, 16, 7, 7, 7, 9, 9],
  },
  // None of these callers has an e-mail address.
  'platform.iam.v2beta1.GroupsService.LookupGroup': { request: () => ({}), codes: [16, 16, 5, 5, 5, 5, 5] },
  'platform.iam.v2beta1.GroupsService.CheckEligibility': { request: () => ({}), codes: anyone },
  'platform.iam.v2beta1.GroupsService.RequestGroupAccess': {
    request: ({ organization }) => ({ groupUid: organization }),
    codes: [16, 16, 5, 5, 5, 5, 5],
  },

  'platform.iam.Groups.Create': creates('group', { name: 'new' }),
  'platform.iam.Groups.Update': changesOfV1(async ({ here }) => here, { name: 'changed' }),
  'platform.iam.Groups.List': listsOfV1(async ({ here }) => here),
  'platform.iam.Groups.Delete': { request: ({ here }) => ({ id: here }), codes: [16, 16, 7, 7, 7, 9, 9] },
  'platform.iam.Groups.LookupGroup': { request: () => ({}), codes: [16, 16, 5, 5, 5, 5, 5] },
  'platform.iam.Groups.CheckEligibility': { request: () => ({}), codes: anyone },
  'platform.iam.Groups.RequestGroupAccess': {
    request: ({ organization }) => ({ groupId: organization }),
    codes: [16, 16, 5, 5, 5, 5, 5],
  },

  'platform.iam.Identities.Create': createsOfV1({ identity }),
  'platform.iam.Identities.Update': changesOfV1(makeIdentity, { ...identity, description: 'changed' }),
  'platform.iam.Identities.List': listsOfV1(makeIdentity),
  // Whoever may list the identity is told of it.
  'platform.iam.Identities.Lookup': {
    request: async (scene) => {
      await makeIdentity(scene)
      return identity.claimMatch
    },
    codes: [16, 16, 5, 0, 0, 0, 0],
  },
  'platform.iam.Identities.Delete': changesOfV1(makeIdentity),

  'platform.iam.Roles.Create': createsOfV1({ role: roleOfV1 }),
  'platform.iam.Roles.Update': changesOfV1(makeRole, { ...roleOfV1, description: 'changed' }),
  'platform.iam.Roles.List': listsOfV1(makeRole),
  'platform.iam.Roles.Delete': changesOfV1(makeRole),

  'platform.iam.RoleBindings.Create': {
    request: async (scene) => ({ parent: scene.here, roleBinding: await bindingOfV1(scene) }),
    codes: owners,
  },
  'platform.iam.RoleBindings.CreateBatch': {
    request: async (scene) => ({ parent: scene.here, roleBindings: [await bindingOfV1(scene)] }),
    codes: owners,
  },
  'platform.iam.RoleBindings.Update': {
    request: async (scene) => ({ id: await makeBinding(scene), ...(await bindingOfV1(scene)) }),
    codes: owners,
  },
  'platform.iam.RoleBindings.List': listsOfV1(makeBinding),
  'platform.iam.RoleBindings.Delete': changesOfV1(makeBinding),

  'platform.iam.IdentityProviders.Create': createsOfV1({ identityProvider: provider }),
  'platform.iam.IdentityProviders.Update': changesOfV1(makeProvider, { ...provider, description: 'changed' }),
  'platform.iam.IdentityProviders.List': listsOfV1(makeProvider),
  'platform.iam.IdentityProviders.Delete': changesOfV1(makeProvider),

  'platform.iam.GroupAccountAssociations.Create': {
    request: ({ here }) => ({ group: here, ...association }),
    codes: owners,
  },
  'platform.iam.GroupAccountAssociations.Update': changesOfV1(makeAssociation, association, 'group'),
  'platform.iam.GroupAccountAssociations.List': listsOfV1(makeAssociation, 'group'),
  'platform.iam.GroupAccountAssociations.Delete': changesOfV1(makeAssociation, {}, 'group'),

  'platform.iam.GroupInvites.Create': {
    request: ({ here }) => ({ group: here, role: viewerRole, ttl: '3600s' }),
    codes: owners,
  },
  'platform.iam.GroupInvites.List': listsOfV1(makeInvite),
  'platform.iam.GroupInvites.Delete': changesOfV1(makeInvite),

  'platform.iam.v2beta1.GroupAccessRequestsService.GetGroupAccessRequest': get(makeAccessRequest),
  'platform.iam.v2beta1.GroupAccessRequestsService.ListGroupAccessRequests': lists(makeAccessRequest),
  'platform.iam.v2beta1.GroupAccessRequestsService.ApproveGroupAccessRequest': {
    request: async (scene) => ({ uid: await makeAccessRequest(scene), roleUid: viewerRole }),
    codes: owners,
  },
  'platform.iam.v2beta1.GroupAccessRequestsService.DeleteGroupAccessRequest': deletes(makeAccessRequest),

  'platform.iam.v2beta1.IdentitiesService.GetIdentity': get(makeIdentity),
  'platform.iam.v2beta1.IdentitiesService.ListIdentities': lists(makeIdentity),
  'platform.iam.v2beta1.IdentitiesService.CreateIdentity': creates('identity', identity),
  'platform.iam.v2beta1.IdentitiesService.UpdateIdentity': updates(makeIdentity, 'identity', {
    description: 'changed',
  }),
  'platform.iam.v2beta1.IdentitiesService.DeleteIdentity': deletes(makeIdentity),
  'platform.iam.v2beta1.IdentitiesService.LookupIdentity': {
    request: () => ({ issuer: 'https://issuer.test', subject: 'somebody' }),
    codes: anyone,
  },

  'platform.iam.v2beta1.RolesService.GetRole': get(makeRole),
  'platform.iam.v2beta1.RolesService.ListRoles': lists(makeRole),
  'platform.iam.v2beta1.RolesService.CreateRole': creates('role', role),
  'platform.iam.v2beta1.RolesService.UpdateRole': updates(makeRole, 'role', { description: 'changed' }),
  'platform.iam.v2beta1.RolesService.DeleteRole': deletes(makeRole),

  'platform.iam.v2beta1.RoleBindingsService.GetRoleBinding': get(makeBinding),
  'platform.iam.v2beta1.RoleBindingsService.ListRoleBindings': lists(makeBinding),
  'platform.iam.v2beta1.RoleBindingsService.CreateRoleBinding': {
    request: async (scene) => ({
      parent: scene.here,
      roleBinding: { identityUid: await makeIdentity(scene), roleUid: viewerRole },
    }),
    codes: owners,
  },
  'platform.iam.v2beta1.RoleBindingsService.BatchCreateRoleBindings': {
    request: async (scene) => ({
      parent: scene.here,
      requests: [{ roleBinding: { identityUid: await makeIdentity(scene) } }],
      roleUid: viewerRole,
    }),
    codes: owners,
  },
  'platform.iam.v2beta1.RoleBindingsService.UpdateRoleBinding': updates(makeBinding, 'roleBinding', {
    roleUid: builtInRole('editor').uid,
  }),
  'platform.iam.v2beta1.RoleBindingsService.DeleteRoleBinding': deletes(makeBinding),

  'platform.iam.v2beta1.IdentityProvidersService.GetIdentityProvider': get(makeProvider),
  'platform.iam.v2beta1.IdentityProvidersService.ListIdentityProviders': lists(makeProvider),
  'platform.iam.v2beta1.IdentityProvidersService.CreateIdentityProvider': creates(
    'identityProvider',
    provider,
  ),
  'platform.iam.v2beta1.IdentityProvidersService.UpdateIdentityProvider': updates(
    makeProvider,
    'identityProvider',
    { description: 'changed' },
  ),
  'platform.iam.v2beta1.IdentityProvidersService.DeleteIdentityProvider': deletes(makeProvider),

  'platform.iam.v2beta1.AccountAssociationsService.GetAccountAssociation': get(makeAssociation),
  'platform.iam.v2beta1.AccountAssociationsService.ListAccountAssociations': lists(makeAssociation),
  'platform.iam.v2beta1.AccountAssociationsService.CreateAccountAssociation': creates(
    'accountAssociation',
    association,
  ),
  'platform.iam.v2beta1.AccountAssociationsService.UpdateAccountAssociation': updates(
    makeAssociation,
    'accountAssociation',
    { description: 'changed' },
  ),
  'platform.iam.v2beta1.AccountAssociationsService.DeleteAccountAssociation': deletes(makeAssociation),
  'platform.iam.v2beta1.AccountAssociationsService.CheckAccountAssociation': {
    request: async (scene) => ({
      uid: await makeAssociation(scene),
      providerType: 'ACCOUNT_PROVIDER_TYPE_AMAZON',
    }),
    codes: readers,
  },

  'platform.iam.v2beta1.GroupInvitesService.GetGroupInvite': get(makeInvite),
  'platform.iam.v2beta1.GroupInvitesService.ListGroupInvites': lists(makeInvite),
  'platform.iam.v2beta1.GroupInvitesService.CreateGroupInvite': creates('groupInvite', invite),
  'platform.iam.v2beta1.GroupInvitesService.UpdateGroupInvite': updates(makeInvite, 'groupInvite', {
    singleUse: true,
  }),
  'platform.iam.v2beta1.GroupInvitesService.DeleteGroupInvite': deletes(makeInvite),

  'platform.registry.v2beta1.ReposService.GetRepo': get(makeRepo),
  'platform.registry.v2beta1.ReposService.ListRepos': lists(makeRepo),
  'platform.registry.v2beta1.ReposService.CreateRepo': { ...creates('repo', repo), codes: editors },
  'platform.registry.v2beta1.ReposService.UpdateRepo': {
    ...updates(makeRepo, 'repo', { description: 'changed' }),
    codes: editors,
  },
  'platform.registry.v2beta1.ReposService.DeleteRepo': { ...deletes(makeRepo), codes: editors },
  'platform.registry.v2beta1.ReposService.GetRepoReadme': get(makeRepo),
  'platform.registry.v2beta1.ReposService.UpdateRepoReadme': {
    ...updates(makeRepo, 'repoReadme', { content: '# changed' }),
    codes: editors,
  },
  'platform.registry.v2beta1.TagsService.GetTag': get(makeTag),
  'platform.registry.v2beta1.TagsService.ListTags': lists(makeTag),
  'platform.registry.v2beta1.TagsService.CreateTag': {
    request: async (scene) => ({ parent: await makeRepo(scene), tag }),
    codes: owners,
  },
  'platform.registry.v2beta1.TagsService.UpdateTag': updates(makeTag, 'tag', { deprecated: true }),
  'platform.registry.v2beta1.TagsService.DeleteTag': deletes(makeTag),
  'platform.registry.Registry.CreateRepo': {
    request: ({ here }) => ({ parentId: here, repo }),
    codes: editors,
  },
  'platform.registry.Registry.UpdateRepo': { ...changesOfV1(makeRepo, repo), codes: editors },
  'platform.registry.Registry.ListRepos': listsOfV1(makeRepo),
  'platform.registry.Registry.DeleteRepo': { ...changesOfV1(makeRepo), codes: editors },
  'platform.registry.Registry.CreateTag': {
    request: async (scene) => ({ repoId: await makeRepo(scene), tag }),
    codes: owners,
  },
  'platform.registry.Registry.UpdateTag': changesOfV1(makeTag, tag),
  'platform.registry.Registry.DeleteTag': changesOfV1(makeTag),
  'platform.registry.Registry.ListTags': listsOfV1(makeTag),
  'platform.registry.Registry.ListTagHistory': {
    request: async (scene) => ({ parentId: await makeTag(scene) }),
    codes: readers,
  },

  'platform.vulnerabilities.v2beta1.AdvisoriesService.GetAdvisory': get(makeAdvisoryUid),
  'platform.vulnerabilities.v2beta1.AdvisoriesService.GetAdvisoryOsv': get(makeAdvisoryUid),
  'platform.vulnerabilities.v2beta1.AdvisoriesService.GetAdvisoryOpenVex': get(makeAdvisoryUid),
  'platform.vulnerabilities.v2beta1.AdvisoriesService.ListAdvisories': lists(makeAdvisoryUid),
  'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOsv': lists(makeAdvisoryUid),
  'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOpenVex': lists(makeAdvisoryUid),
  'platform.vulnerabilities.v1.Advisories.Create': {
    request: ({ here }) => ({ parentId: here, advisory }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.List': listsOfV1(makeAdvisoryUid),
  'platform.vulnerabilities.v1.Advisories.Update': {
    request: async (scene) => ({ id: await makeAdvisoryUid(scene), ...advisory, aliases: [] }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.Delete': {
    request: async (scene) => ({ id: await makeAdvisoryUid(scene) }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.CreateAdvisoryEvent': {
    request: async (scene) => ({ parentId: await makeAdvisoryUid(scene), advisoryEvent: event }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.ListAdvisoryEvents': {
    request: async (scene) => ({ parentId: await makeAdvisoryUid(scene) }),
    codes: readers,
  },
  'platform.vulnerabilities.v1.Advisories.UpdateAdvisoryEvent': {
    request: async (scene) => ({ id: (await makeAdvisory(scene)).event, ...event, status: 'APPROVED' }),
    codes: owners,
  },

  'platform.events.v2beta1.SubscriptionsService.GetSubscription': get(makeSubscription),
  'platform.events.v2beta1.SubscriptionsService.ListSubscriptions': lists(makeSubscription),
  'platform.events.v2beta1.SubscriptionsService.CreateSubscription': {
    ...creates('subscription', subscription),
    codes: editors,
  },
  'platform.events.v2beta1.SubscriptionsService.DeleteSubscription': {
    ...deletes(makeSubscription),
    codes: editors,
  },
  'platform.events.Subscriptions.Create': {
    request: ({ here }) => ({ parentId: here, subscription }),
    codes: editors,
  },
  'platform.events.Subscriptions.List': listsOfV1(makeSubscription),
  'platform.events.Subscriptions.Delete': { ...changesOfV1(makeSubscription), codes: editors },

  // Their bearer need not be an access token: one of ours leads to its own identity, and is no refresh token.
  'platform.oidc.SecurityTokenService.Exchange': { request: () => ({}), codes: [16, 16, 0, 0, 0, 0, 0] },
  'platform.oidc.SecurityTokenService.ExchangeRefreshToken': {
    request: () => ({}),
    codes: [16, 16, 16, 16, 16, 16, 16],
  },

  'platform.ping.PingService.Ping': { request: () => ({}), codes: everyone },
  'platform.ping.v2beta1.PingService.Ping': { request: () => ({}), codes: everyone },

  // None of these callers is a person, and nobody has signed in for anybody.
  'platform.auth.Auth.Register': { request: () => ({}), codes: [16, 16, 7, 7, 7, 7, 7] },
  'platform.auth.Auth.GetHeadlessSession': {
    request: () => ({ code: 'CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }),
    codes: [5, 5, 5, 5, 5, 5, 5],
  },

  'platform.auth.Auth.Validate': { request: () => ({}), codes: anyone },
  // None of these callers is a person.
  'platform.auth.Auth.Delete': {
    request: () => ({ id: '0'.repeat(40) }),
    codes: [16, 16, 7, 7, 7, 7, 7],
  },
}
