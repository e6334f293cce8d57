// Role bindings, as docs/specification.md describes them.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { createGroup, updateGroup } = GroupsService.method
const { createIdentity, updateIdentity } = IdentitiesService.method
const { createRole } = RolesService.method
const {
  getRoleBinding,
  listRoleBindings,
  createRoleBinding,
  updateRoleBinding,
  deleteRoleBinding,
  batchCreateRoleBindings,
} = RoleBindingsService.method

const viewer = builtInRole('viewer')
const claimMatch = { issuer: 'https://issuer.test', subject: 'robot' }

const makeGroup = (stage: ExampleContext, name = 'team') =>
  make(stage, createGroup, { parent: stage.owner.organization, group: { name, description: 'a team' } })
const makeIdentity = (stage: ExampleContext, name = 'robot') =>
  make(stage, createIdentity, {
    parent: stage.owner.organization,
    identity: { name, description: 'a robot', claimMatch },
  })

examples('role bindings', {
  async 'a new binding is returned with its identity, group and role'(stage) {
    const parent = await makeGroup(stage)
    const identityUid = await makeIdentity(stage)
    const roleBinding = { identityUid, roleUid: viewer.uid }
    const binding = await stage.succeed(createRoleBinding, { parent, roleBinding })
    const { uid, createTime, ...rest } = binding
    assert.deepEqual(rest, {
      identity: { uid: identityUid, name: 'robot', description: 'a robot', ...claimMatch },
      group: { uid: parent, name: 'team', description: 'a team' },
      role: { uid: viewer.uid, name: 'viewer', description: viewer.description },
    })
    assert.match(uid as string, new RegExp(`^${parent}/[0-9a-f]{16}$`))
    assert.match(createTime as string, /Z$/)
    assert.deepEqual(await stage.succeed(getRoleBinding, { uid: uid as string }), binding)
    const { roleBindings } = await stage.succeed(listRoleBindings, { group: parent })
    assert.deepEqual(roleBindings, [binding])
  },

  async 'a binding shows the current fields of its identity, group and role'(stage) {
    const group = await makeGroup(stage)
    const identityUid = await makeIdentity(stage)
    const roleBinding = { identityUid, roleUid: viewer.uid }
    const uid = await make(stage, createRoleBinding, { parent: group, roleBinding })
    await stage.succeed(updateGroup, { group: { uid: group, name: 'renamed' } })
    await stage.succeed(updateIdentity, { identity: { uid: identityUid, claimMatch: { subject: 'other' } } })
    const current = (await stage.succeed(getRoleBinding, { uid })) as { [key: string]: JsonObject }
    assert.equal(current.group?.name, 'renamed')
    assert.equal(current.identity?.subject, 'other')
  },

  async 'lists are filtered by identity, group and role'(stage) {
    const { owner, succeed } = stage
    const [a, b] = [await makeGroup(stage, 'a'), await makeGroup(stage, 'b')]
    const identity = await makeIdentity(stage)
    const editor = builtInRole('editor').uid
    for (const [parent, roleUid] of [
      [a, viewer.uid],
      [b, viewer.uid],
      [b, editor],
    ] as const)
      await succeed(createRoleBinding, { parent, roleBinding: { identityUid: identity, roleUid } })
    const count = async (request: JsonObject) => {
      const list = await succeed(listRoleBindings, request)
      assert.equal((list.roleBindings as unknown[]).length, Number(list.totalCount))
      return Number(list.totalCount)
    }
    assert.equal(await count({}), 4, 'these three, and the binding of the owner')
    assert.equal(await count({ identity }), 3)
    assert.equal(await count({ group: b }), 2)
    assert.equal(await count({ role: viewer.uid }), 2)
    assert.equal(await count({ identity, group: b, role: editor }), 1)
    assert.equal(await count({ group: owner.organization }), 1)
    assert.equal(await count({ group: `${a}/${'0'.repeat(16)}` }), 0)
    assert.equal(await count({ identity, uidp: { childrenOf: a } }), 1)
    const [first, ...others] = (
      (await succeed(listRoleBindings, { identity, orderBy: 'create_time desc' }))
        .roleBindings as JsonObject[]
    ).map(({ createTime }) => createTime as string)
    for (const time of others) assert.ok(time <= (first as string))
    assert.deepEqual(violations(await stage.fail(listRoleBindings, { orderBy: 'name' })), ['orderBy'])
  },

  async 'identity and role are required and must exist'(stage) {
    const { owner, fail } = stage
    const parent = owner.organization
    const identityUid = await makeIdentity(stage)
    const nobody = `${parent}/${'0'.repeat(16)}`
    const refuse = async (roleBinding: JsonObject) =>
      violations(await fail(createRoleBinding, { parent, roleBinding }))
    assert.deepEqual(await refuse({ roleUid: viewer.uid }), ['identityUid'])
    assert.deepEqual(await refuse({ identityUid }), ['roleUid'])
    assert.deepEqual(await refuse({ identityUid: 'x', roleUid: viewer.uid }), ['identityUid'])
    assert.deepEqual(await refuse({ identityUid: nobody, roleUid: viewer.uid }), ['identityUid'])
    assert.deepEqual(await refuse({ identityUid, roleUid: nobody }), ['roleUid'])
    assert.deepEqual(await refuse({ identityUid, roleUid: '0'.repeat(40) }), ['roleUid'])
  },

  async 'a custom role can be bound only in its own group and below'(stage) {
    const [a, b] = [await makeGroup(stage, 'a'), await makeGroup(stage, 'b')]
    const identityUid = await makeIdentity(stage)
    const role = { name: 'own', capabilities: ['CAP_IAM_GROUPS_LIST'] }
    const roleUid = await make(stage, createRole, { parent: a, role })
    await stage.succeed(createRoleBinding, { parent: a, roleBinding: { identityUid, roleUid } })
    const inner = await make(stage, createGroup, { parent: a, group: { name: 'inner' } })
    await stage.succeed(createRoleBinding, { parent: inner, roleBinding: { identityUid, roleUid } })
    for (const parent of [b, stage.owner.organization]) {
      const error = await stage.fail(createRoleBinding, { parent, roleBinding: { identityUid, roleUid } })
      assert.deepEqual(violations(error), ['roleUid'])
    }
  },

  async 'people and identities of other organizations can be bound only by callers who may see them'(stage) {
    const { owner, platform, succeed, fail } = stage
    const parent = owner.organization
    const user = await platform.addIdentity('')
    const bind = (identityUid: string, roleUid = viewer.uid) => ({
      parent,
      roleBinding: { identityUid, roleUid },
    })
    const personError = await fail(createRoleBinding, bind(user.identity))
    assert.deepEqual(violations(personError), ['identityUid'])
    const stranger = await platform.addOrganization('stranger')
    const invisibleError = await fail(createRoleBinding, bind(stranger.identity))
    const missingError = await fail(createRoleBinding, bind(`${stranger.organization}/${'0'.repeat(16)}`))
    assert.deepEqual(invisibleError, missingError)
    await platform.bind(user.identity, 'viewer', stranger.organization)
    assert.deepEqual(await fail(createRoleBinding, bind(user.identity)), personError)
    // As a viewer of the other organization, the owner sees the identity and the person.
    await platform.bind(owner.identity, 'viewer', stranger.organization)
    await succeed(createRoleBinding, bind(stranger.identity))
    await succeed(createRoleBinding, bind(user.identity))
    // The person now has a role in this organization too, so the owner can give them another one.
    await platform.unbind(owner.identity, stranger.organization)
    await succeed(createRoleBinding, bind(user.identity, builtInRole('editor').uid))
  },

  async 'a binding cannot grant more capabilities than the caller has'(stage) {
    const { succeed, fail, platform, owner } = stage
    const parent = owner.organization
    const binder = await platform.addIdentityWith(parent, [
      'CAP_IAM_ROLE_BINDINGS_CREATE',
      'CAP_IAM_ROLE_BINDINGS_UPDATE',
    ])
    const identityUid = await makeIdentity(stage)
    for (const role of ['viewer', 'owner', 'registry.pull']) {
      const request = { parent, roleBinding: { identityUid, roleUid: builtInRole(role).uid } }
      assert.equal((await fail(createRoleBinding, request, binder.token)).code, 7)
    }
    const withRoleOfCaller = { parent, roleBinding: { identityUid, roleUid: binder.role } }
    const { uid } = (await succeed(createRoleBinding, withRoleOfCaller, binder.token)) as { uid: string }
    const widen = { roleBinding: { uid, roleUid: viewer.uid } }
    assert.equal((await fail(updateRoleBinding, widen, binder.token)).code, 7)
    // Nor can the caller replace the identity of a binding whose role has more capabilities than the caller.
    await succeed(updateRoleBinding, widen)
    const replaceIdentity = { roleBinding: { uid, identityUid: binder.identity } }
    assert.equal((await fail(updateRoleBinding, replaceIdentity, binder.token)).code, 7)
  },

  async 'an update cannot take away a role with more capabilities than the caller has'(stage) {
    const { succeed, fail, platform, owner } = stage
    const parent = owner.organization
    const updater = await platform.addIdentityWith(parent, ['CAP_IAM_ROLE_BINDINGS_UPDATE'])
    const { roleBindings } = await succeed(listRoleBindings, { group: parent, identity: owner.identity })
    const [{ uid } = { uid: '' }] = roleBindings as { uid: string }[]
    const demote = { roleBinding: { uid, roleUid: updater.role } }
    const replace = { roleBinding: { ...demote.roleBinding, identityUid: updater.identity } }
    for (const request of [demote, replace]) {
      const { code, message } = await fail(updateRoleBinding, request, updater.token)
      assert.equal(code, 7)
      assert.match(message, /can take it away there/)
    }
    const robot = { identityUid: await makeIdentity(stage), roleUid: updater.role }
    const own = await make(stage, createRoleBinding, { parent, roleBinding: robot })
    const change = { roleBinding: { uid: own, reason: 'ticket 4711' } }
    await succeed(updateRoleBinding, change, updater.token)
    await succeed(updateRoleBinding, demote)
  },

  async 'an update changes identity or role and keeps the other'(stage) {
    const parent = stage.owner.organization
    const [first, second] = [await makeIdentity(stage, 'first'), await makeIdentity(stage, 'second')]
    const roleBinding = { identityUid: first, roleUid: viewer.uid }
    const uid = await make(stage, createRoleBinding, { parent, roleBinding })
    const identityAndRole = ({ identity, role }: JsonObject) => [
      (identity as JsonObject).uid,
      (role as JsonObject).name,
    ]
    const update = async (change: JsonObject, updateMask?: string) =>
      identityAndRole(
        await stage.succeed(updateRoleBinding, {
          roleBinding: { uid, ...change },
          ...(updateMask ? { updateMask } : {}),
        }),
      )
    assert.deepEqual(await update({ identityUid: second }), [second, 'viewer'])
    const editor = builtInRole('editor').uid
    assert.deepEqual(await update({ roleUid: editor, identityUid: first }, 'roleUid'), [second, 'editor'])
    assert.deepEqual(await update({ roleUid: viewer.uid, identityUid: first }, '*'), [first, 'viewer'])
    assert.deepEqual(await update({ identity: { uid: second } }, 'identity'), [first, 'viewer'])
    const cleared = { roleBinding: { uid }, updateMask: 'roleUid' }
    assert.deepEqual(violations(await stage.fail(updateRoleBinding, cleared)), ['roleUid'])
  },

  async 'the same binding cannot be created twice'(stage) {
    const parent = stage.owner.organization
    const roleBinding = { identityUid: await makeIdentity(stage), roleUid: viewer.uid }
    await stage.succeed(createRoleBinding, { parent, roleBinding })
    assert.equal((await stage.fail(createRoleBinding, { parent, roleBinding })).code, 6)
    const other = { ...roleBinding, roleUid: builtInRole('editor').uid }
    const uid = await make(stage, createRoleBinding, { parent, roleBinding: other })
    const same = { roleBinding: { uid, roleUid: viewer.uid } }
    assert.equal((await stage.fail(updateRoleBinding, same)).code, 6)
  },

  async 'deleting a missing binding succeeds, but needs access to its group'({
    succeed,
    fail,
    owner,
    platform,
  }) {
    const uid = `${owner.organization}/${'0'.repeat(16)}`
    assert.deepEqual(await succeed(deleteRoleBinding, { uid }), {})
    const stranger = await platform.addOrganization('stranger')
    assert.equal((await fail(deleteRoleBinding, { uid }, stranger.token)).code, 7)
  },

  async 'a batch returns the new bindings in the order of its requests'(stage) {
    const parent = stage.owner.organization
    const identities = [
      await makeIdentity(stage, 'b'),
      await makeIdentity(stage, 'a'),
      await makeIdentity(stage, 'c'),
    ]
    const requests = identities.map((identityUid) => ({ roleBinding: { identityUid } }))
    const made = await stage.succeed(batchCreateRoleBindings, { parent, requests, roleUid: viewer.uid })
    const bindings = made.roleBindings as { identity: JsonObject; role: JsonObject }[]
    assert.deepEqual(
      bindings.map(({ identity, role }) => [identity.uid, role.name]),
      identities.map((uid) => [uid, 'viewer']),
    )
    assert.deepEqual(Object.keys(made), ['roleBindings'])
  },

  async 'a batch with an invalid binding creates none'(stage) {
    const { owner, fail, succeed } = stage
    const parent = owner.organization
    const [first, second] = [await makeIdentity(stage, 'first'), await makeIdentity(stage, 'second')]
    const request = (identityUid: string, fields: JsonObject = {}) => ({
      roleBinding: { identityUid, ...fields },
    })
    const refuse = async (requests: JsonObject[], code: number, roleUid = viewer.uid) => {
      const error = await fail(batchCreateRoleBindings, { parent, requests, roleUid })
      assert.equal(error.code, code)
      const list = await succeed(listRoleBindings, { group: parent })
      assert.equal(list.totalCount, '1', 'only the binding of the owner')
      return violations(error)
    }
    assert.deepEqual(await refuse([], 3), ['requests'])
    assert.deepEqual(await refuse([request(first), request(`${parent}/${'0'.repeat(16)}`)], 3), [
      'requests[1].roleBinding.identityUid',
    ])
    await refuse([request(first), request(first)], 6)
    assert.deepEqual(
      await refuse([request(first), request(second, { roleUid: builtInRole('editor').uid })], 3),
      ['requests[1].roleBinding.roleUid'],
    )
    assert.deepEqual(await refuse([request(first)], 3, ''), ['requests[0].roleBinding.roleUid'])
    const elsewhere = [{ ...request(first), parent: `${parent}/${'0'.repeat(16)}` }]
    assert.deepEqual(await refuse(elsewhere, 3), ['requests[0].parent'])
    assert.deepEqual(
      await refuse(
        Array.from({ length: 26 }, () => request(first)),
        3,
      ),
      ['requests'],
    )
  },
})
