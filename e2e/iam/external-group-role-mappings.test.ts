// External group role mappings: members of a group at an identity provider have a role.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { ExternalGroupRoleMappings } from '@stemma/api/gen/platform/iam/external_group_role_mapping_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import {
  addMembers,
  externalGroupUid,
  removeMembers,
  replaceMemberships,
} from '../../server/store/external-groups.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'

const {
  getExternalGroupRoleMapping,
  listExternalGroupRoleMappings,
  createExternalGroupRoleMapping,
  deleteExternalGroupRoleMapping,
  batchDeleteExternalGroupRoleMappings,
} = ExternalGroupRoleMappingsService.method
const { createIdentityProvider, deleteIdentityProvider } = IdentityProvidersService.method
const { createGroup, deleteGroup, getGroup, listGroups } = GroupsService.method
const { getRoleBinding, listRoleBindings, updateRoleBinding, deleteRoleBinding } = RoleBindingsService.method
const { createRole, deleteRole } = RolesService.method
const v1 = ExternalGroupRoleMappings.method

const viewer = builtInRole('viewer')
const editor = builtInRole('editor')

const makeGroup = ({ owner, ...stage }: ExampleContext, name = 'team', parent = owner.organization) =>
  make({ owner, ...stage }, createGroup, { parent, group: { name } })

const makeProvider = (stage: ExampleContext, parent = stage.owner.organization) =>
  make(stage, createIdentityProvider, {
    parent,
    identityProvider: {
      name: 'sso',
      defaultRole: viewer.uid,
      oidc: { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush', groupsClaim: 'groups' },
    },
  })

const mappingTo = (scope: string, externalGroupId = 'developers', roleUid = viewer.uid) => ({
  externalGroupRoleMapping: { externalGroupId, roleUid, scope },
})

const makeMapping = (stage: ExampleContext, parent: string, scope: string, externalGroupId?: string) =>
  make(stage, createExternalGroupRoleMapping, { parent, ...mappingTo(scope, externalGroupId) })

const bindingsIn = async ({ succeed }: ExampleContext, request: JsonObject, token?: string) =>
  (await succeed(listRoleBindings, request, token)).roleBindings as JsonObject[]

const storedCount = async ({ platform }: ExampleContext, uid: string) =>
  (await platform.store.query(sql`select 1 from identities where uid = ${uid}`)).length

examples('external group role mappings', {
  async 'a mapping is returned, read, and listed among all mappings and among those of its provider'(stage) {
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const mapping = await stage.succeed(createExternalGroupRoleMapping, {
      parent: provider,
      ...mappingTo(team),
    })
    const { uid, createTime, ...rest } = mapping
    assert.deepEqual(rest, {
      ...{ identityProviderUid: provider, externalGroupId: 'developers', roleUid: viewer.uid, scope: team },
    })
    assert.match(uid as string, new RegExp(`^${provider}/[0-9a-f]{16}$`))
    assert.match(createTime as string, /Z$/)
    assert.deepEqual(await stage.succeed(getExternalGroupRoleMapping, { uid: uid as string }), mapping)
    const other = await makeProvider(stage)
    await makeMapping(stage, other, team)
    const list = async (request: JsonObject) => {
      const { externalGroupRoleMappings, totalCount } = await stage.succeed(
        listExternalGroupRoleMappings,
        request,
      )
      return [(externalGroupRoleMappings as JsonObject[]).map((entry) => entry.uid === uid), totalCount]
    }
    assert.deepEqual(await list({ identityProviderUid: provider }), [[true], '1'])
    assert.deepEqual(await list({ uidp: { childrenOf: provider } }), [[true], '1'])
    assert.deepEqual(await list({ orderBy: 'create_time' }), [[true, false], '2'])
  },

  async 'version 1 has the same mappings'(stage) {
    const { organization } = stage.owner
    const provider = await makeProvider(stage)
    const mapping = { externalGroupId: 'developers', roleUidp: viewer.uid, scope: organization }
    const created = await stage.succeed(v1.create, { parentId: provider, mapping })
    const { id, createdAt: _, ...rest } = created
    assert.deepEqual(rest, { ...mapping, identityProviderUidp: provider })
    assert.deepEqual(await stage.succeed(v1.get, { uid: id as string }), created)
    assert.deepEqual(await stage.succeed(v1.list, { identityProviderUidp: provider }), { items: [created] })
    assert.equal((await stage.fail(v1.create, { parentId: provider, mapping })).code, 6)
    const wrong = { ...mapping, roleUidp: '0'.repeat(40) }
    assert.deepEqual(violations(await stage.fail(v1.create, { parentId: provider, mapping: wrong })), [
      'roleUidp',
    ])
    const foreign = await stage.fail(v1.batchDelete, { parentId: organization, ids: [id as string] })
    assert.deepEqual(violations(foreign), ['ids[0]'])
    const batch = { parentId: provider, ids: [id as string] }
    assert.deepEqual(await stage.succeed(v1.batchDelete, batch), { parentId: provider, items: [created] })
    assert.deepEqual(await stage.succeed(v1.batchDelete, batch), { parentId: provider, items: [] })
    const { id: again } = await stage.succeed(v1.create, { parentId: provider, mapping })
    await stage.succeed(v1.delete, { id: again as string })
    await stage.succeed(v1.delete, { id: again as string })
    assert.equal((await stage.fail(v1.get, { uid: again as string })).code, 5)
  },

  async 'members have the role until they leave the group'(stage) {
    const { platform, call, owner } = stage
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const person = await platform.addUser('ada@example.com')
    await makeMapping(stage, provider, team)
    const codes = async () => {
      const get = await call(getGroup, { uid: team }, person.token)
      const write = await call(createGroup, { parent: team, group: { name: 'new' } }, person.token)
      const { body } = await call(listGroups, {}, person.token)
      return [get.error?.code ?? 0, write.error?.code ?? 0, (body?.groups as JsonObject[]).length]
    }
    assert.deepEqual(await codes(), [7, 7, 0])
    const { store } = platform
    await store.write(() => addMembers(provider, 'developers', [person.identity]))
    assert.deepEqual(await codes(), [0, 7, 1])
    await stage.succeed(createExternalGroupRoleMapping, {
      parent: provider,
      ...mappingTo(team, 'developers', builtInRole('owner').uid),
    })
    assert.deepEqual(await codes(), [0, 0, 2])
    const { capabilities } = await stage.succeed(Auth.method.validate, {}, person.token)
    const names = (capabilities as { role: { name: string } }[]).map(({ role }) => role.name)
    assert.deepEqual(names.sort(), ['owner', 'viewer'])
    await store.write(() => removeMembers(provider, 'developers', [person.identity]))
    assert.deepEqual(await codes(), [7, 7, 0])
    assert.equal((await call(getGroup, { uid: owner.organization }, person.token)).error?.code, 7)
  },

  async 'a membership from a sign-in ends when it expires'(stage) {
    const { platform, call, owner } = stage
    const provider = await makeProvider(stage)
    await makeMapping(stage, provider, owner.organization)
    const person = await platform.addUser('grace@example.com')
    const signIn = (expires: number) =>
      platform.store.write(() =>
        replaceMemberships(provider, person.identity, 'sign-in', ['developers'], expires),
      )
    const code = async () =>
      (await call(getGroup, { uid: owner.organization }, person.token)).error?.code ?? 0
    await signIn(Date.now() + 60_000)
    assert.equal(await code(), 0)
    await signIn(Date.now())
    assert.equal(await code(), 7)
  },

  async 'role bindings are listed with the mapping as their source, also when filtered by a member'(stage) {
    const { platform, owner } = stage
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const mapping = await makeMapping(stage, provider, team)
    const [binding = {}] = await bindingsIn(stage, { group: team })
    const { uid, createTime: _, ...rest } = binding
    assert.deepEqual(rest, {
      identity: {
        ...{ uid: externalGroupUid(provider, 'developers'), name: 'developers' },
        ...{ description: 'external group', subject: '', issuer: '' },
      },
      group: { uid: team, name: 'team', description: '' },
      role: { uid: viewer.uid, name: 'viewer', description: viewer.description },
      externalGroup: {
        ...{ mappingUid: mapping, identityProviderUid: provider, externalGroupId: 'developers' },
      },
    })
    assert.deepEqual(await stage.succeed(getRoleBinding, { uid: uid as string }), binding)
    const { items } = await stage.succeed(RoleBindings.method.list, { id: uid as string })
    const [inV1 = {}] = items as JsonObject[]
    assert.equal(inV1.identity, externalGroupUid(provider, 'developers'))
    assert.deepEqual(inV1.externalGroup, {
      ...{ mapping, identityProvider: provider, externalGroupId: 'developers' },
    })
    const person = await platform.addIdentity('', 'viewer', owner.organization)
    const groupsOf = async (identity: string) =>
      (await bindingsIn(stage, { identity })).map(({ group }) => (group as JsonObject).uid).sort()
    assert.deepEqual(await groupsOf(person.identity), [owner.organization])
    await platform.store.write(() => addMembers(provider, 'developers', [person.identity]))
    assert.deepEqual(await groupsOf(person.identity), [team, owner.organization].sort())
    assert.deepEqual(await groupsOf(owner.identity), [owner.organization])
  },

  async 'a caller who may not list identities does not see the id of the external group'(stage) {
    const { platform } = stage
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const mapping = await makeMapping(stage, provider, team)
    const auditor = await platform.addIdentityWith(team, ['CAP_IAM_ROLE_BINDINGS_LIST'])
    const bindings = await bindingsIn(stage, { group: team }, auditor.token)
    const [binding] = bindings.filter(({ externalGroup }) => externalGroup !== undefined)
    assert.equal((binding?.identity as JsonObject).name, '')
    assert.deepEqual(binding?.externalGroup, {
      ...{ mappingUid: mapping, identityProviderUid: provider, externalGroupId: '' },
    })
  },

  async 'the role binding of a mapping cannot be changed or deleted directly'(stage) {
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const mapping = await makeMapping(stage, provider, team)
    const [{ uid = '' } = {}] = (await bindingsIn(stage, { group: team })) as { uid: string }[]
    const update = { roleBinding: { uid, roleUid: editor.uid } }
    for (const error of [
      await stage.fail(deleteRoleBinding, { uid }),
      await stage.fail(updateRoleBinding, update),
      await stage.fail(RoleBindings.method.delete, { id: uid }),
    ]) {
      assert.equal(error.code, 9)
      assert.ok(error.message.includes(mapping), 'names the mapping')
    }
    assert.equal((await bindingsIn(stage, { group: team })).length, 1)
  },

  async 'a mapping exists once for a provider, external group, role and scope'(stage) {
    const { organization } = stage.owner
    const [provider, other] = [await makeProvider(stage), await makeProvider(stage)]
    const team = await makeGroup(stage)
    await makeMapping(stage, provider, team)
    const request = { parent: provider, ...mappingTo(team) }
    assert.equal((await stage.fail(createExternalGroupRoleMapping, request)).code, 6)
    await makeMapping(stage, provider, organization)
    await makeMapping(stage, provider, team, 'Developers')
    await makeMapping(stage, other, team)
    await stage.succeed(createExternalGroupRoleMapping, {
      parent: provider,
      ...mappingTo(team, 'developers', editor.uid),
    })
  },

  async 'only one of several concurrent creates succeeds, and concurrent deletes leave nothing'(stage) {
    const { platform, door, owner } = stage
    const provider = await makeProvider(stage)
    const request = { parent: provider, ...mappingTo(owner.organization) }
    const create = () => door.call(createExternalGroupRoleMapping, request, owner.token)
    for (let round = 0; round < 3; round++) {
      const results = await Promise.all(Array.from({ length: 5 }, create))
      const codes = results.map(({ error }) => error?.code ?? 0).sort()
      assert.deepEqual(codes, [0, 6, 6, 6, 6])
      const uid = results.find(({ body }) => body)?.body?.uid as string
      const remove = () => door.call(deleteExternalGroupRoleMapping, { uid }, owner.token)
      const removed = await Promise.all([remove(), remove(), remove()])
      assert.deepEqual(new Set(removed.map(({ error }) => error?.code ?? 0)), new Set([0]))
      assert.equal(await storedCount(stage, externalGroupUid(provider, 'developers')), 0)
    }
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  },

  async 'wrong values are refused'(stage) {
    const { organization } = stage.owner
    const team = await makeGroup(stage)
    const provider = await makeProvider(stage, team)
    const fields = async (scope: string, groupId?: string, role?: string) =>
      violations(
        await stage.fail(createExternalGroupRoleMapping, {
          parent: provider,
          ...mappingTo(scope, groupId, role),
        }),
      )
    assert.deepEqual(await fields(organization), ['scope'], 'above the group of the provider')
    assert.deepEqual(await fields(await makeGroup(stage, 'other')), ['scope'], 'beside it')
    assert.deepEqual(await fields(`${team}/${'0'.repeat(16)}`), ['scope'], 'missing')
    assert.deepEqual(await fields('team'), ['scope'])
    assert.deepEqual(await fields(''), ['scope'])
    assert.deepEqual(await fields(team, ''), ['externalGroupId'])
    assert.deepEqual(await fields(team, 'x'.repeat(257)), ['externalGroupId'])
    assert.deepEqual(await fields(team, 'a\nb'), ['externalGroupId'])
    assert.deepEqual(await fields(team, 'developers', '0'.repeat(40)), ['roleUid'])
    assert.deepEqual(await fields(team, 'developers', ''), ['roleUid'])
    const below = await makeGroup(stage, 'below', team)
    const role = { name: 'custom', capabilities: ['CAP_IAM_GROUPS_LIST'] }
    const custom = await make(stage, createRole, { parent: below, role })
    assert.deepEqual(await fields(team, 'developers', custom), ['roleUid'], 'a role of a group below')
    const request = { parent: provider, ...mappingTo(below, 'x'.repeat(256), custom) }
    await stage.succeed(createExternalGroupRoleMapping, request)
    const missing = { parent: `${team}/${'0'.repeat(16)}`, ...mappingTo(team) }
    assert.equal((await stage.fail(createExternalGroupRoleMapping, missing)).code, 5)
    assert.equal((await stage.fail(deleteRole, { uid: custom })).code, 9, 'the role is in use')
    assert.match((await stage.fail(deleteGroup, { uid: below })).message, /role bindings/)
  },

  async 'deleting the last mapping deletes the row of the external group; repeated deletes succeed'(stage) {
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const group = externalGroupUid(provider, 'developers')
    const [first, second] = [
      await makeMapping(stage, provider, team),
      await makeMapping(stage, provider, stage.owner.organization),
    ]
    await stage.succeed(deleteExternalGroupRoleMapping, { uid: first })
    await stage.succeed(deleteExternalGroupRoleMapping, { uid: first })
    assert.equal(await storedCount(stage, group), 1)
    await stage.succeed(deleteExternalGroupRoleMapping, { uid: second })
    assert.equal(await storedCount(stage, group), 0)
    assert.equal((await stage.fail(getExternalGroupRoleMapping, { uid: first })).code, 5)
    assert.deepEqual(await bindingsIn(stage, { group: team }), [])
    await stage.succeed(deleteGroup, { uid: team })
    assert.deepEqual(await checkTally(stage.platform.store, talliedKinds, false), [])
  },

  async 'deleting an identity provider deletes its mappings and memberships'(stage) {
    const { platform, call } = stage
    const provider = await makeProvider(stage)
    const team = await makeGroup(stage)
    const person = await platform.addIdentity('')
    await makeMapping(stage, provider, team)
    await makeMapping(stage, provider, team, 'operators')
    await platform.store.write(() => addMembers(provider, 'developers', [person.identity]))
    assert.equal((await call(getGroup, { uid: team }, person.token)).error, undefined)
    await stage.succeed(deleteIdentityProvider, { uid: provider })
    assert.equal((await call(getGroup, { uid: team }, person.token)).error?.code, 7)
    assert.deepEqual(await bindingsIn(stage, { group: team }), [])
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
    const [row] = await platform.store.query(
      sql`select external_until from identities where uid = ${person.identity}`,
    )
    assert.deepEqual(row, [null])
  },

  async 'a batch is deleted completely or not at all, and mappings that do not exist are ignored'(stage) {
    const [provider, other] = [await makeProvider(stage), await makeProvider(stage)]
    const team = await makeGroup(stage)
    const names: string[] = []
    for (const id of ['a', 'b', 'c']) names.push(await makeMapping(stage, provider, team, id))
    const foreign = await makeMapping(stage, other, team)
    const [a = '', b = ''] = names
    const batch = (uids: string[]) => ({ parent: provider, names: uids })
    const error = await stage.fail(batchDeleteExternalGroupRoleMappings, batch([a, foreign]))
    assert.deepEqual([error.code, violations(error)], [3, ['names[1]']])
    assert.equal((await bindingsIn(stage, { group: team })).length, 4, 'nothing was deleted')
    for (const invalid of [[], ['x'], Array<string>(201).fill(a)]) {
      const refused = await stage.fail(batchDeleteExternalGroupRoleMappings, batch(invalid))
      assert.equal(detail(refused, 'BadRequest') !== undefined, true)
    }
    const missing = `${provider}/${'0'.repeat(16)}`
    const deleted = await stage.succeed(batchDeleteExternalGroupRoleMappings, batch([b, missing, a, b]))
    const { parent, externalGroupRoleMappings } = deleted
    const uids = (externalGroupRoleMappings as JsonObject[]).map(({ uid }) => uid)
    assert.deepEqual([parent, uids], [provider, [a, b]])
    assert.equal((await bindingsIn(stage, { group: team })).length, 2)
  },
})
