// Roles through v1, where capabilities are dotted names.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { Roles } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole, builtInRoles } from '../../server/policy/built-in-roles.ts'
import { detail, examples, violations } from '../contract/examples.ts'

const v1 = Roles.method
const v2 = RolesService.method

const role = { name: 'auditor', description: 'reads', capabilities: ['roles.list', 'groups.list'] }
const itemsOf = (list: JsonObject) => list.items as JsonObject[]

examples('roles of v1', {
  async 'a role created by v1 is visible in v2'({ succeed, owner }) {
    const { id, ...rest } = await succeed(v1.create, { parentId: owner.organization, role })
    assert.deepEqual(rest, { ...role, capabilities: ['groups.list', 'roles.list'] })
    const { uid, name, description, capabilities } = await succeed(v2.getRole, { uid: id as string })
    assert.deepEqual({ uid, name, description }, { uid: id, name: 'auditor', description: 'reads' })
    assert.deepEqual(capabilities, ['CAP_IAM_GROUPS_LIST', 'CAP_IAM_ROLES_LIST'])
    assert.deepEqual(itemsOf(await succeed(v1.list, { id: id as string })), [{ id, ...rest }])
  },

  async 'the error for an unknown capability names it, and only a permitted caller gets this error'({
    fail,
    platform,
    owner,
  }) {
    const wrong = { name: 'a', capabilities: ['groups.list', 'groups.fly'] }
    const request = { parentId: owner.organization, role: wrong }
    const error = await fail(v1.create, request)
    assert.deepEqual(violations(error), ['capabilities'])
    assert.match(error.message, /"groups\.fly" is not one/)
    for (const name of ['CAP_IAM_GROUPS_LIST', '103', '', 'unknown']) {
      const refused = await fail(v1.create, { ...request, role: { name: 'a', capabilities: [name] } })
      assert.ok(refused.message.includes(JSON.stringify(name)), refused.message)
    }
    const viewer = await platform.addIdentity(owner.organization, 'viewer')
    assert.equal((await fail(v1.create, request, viewer.token)).code, 7)
  },

  async 'an update replaces all fields'({ succeed, fail, owner }) {
    const { id } = await succeed(v1.create, { parentId: owner.organization, role })
    const changed = { id: id as string, name: 'reader', capabilities: ['groups.list'] }
    assert.deepEqual(await succeed(v1.update, changed), { ...changed, description: '' })
    assert.equal((await succeed(v2.getRole, { uid: id as string })).description, '')
    assert.deepEqual(violations(await fail(v1.update, { id: id as string, name: 'reader' })), [
      'capabilities',
    ])
    const unknown = await fail(v1.update, { ...changed, capabilities: ['groups.fly'] })
    assert.match(unknown.message, /groups\.fly/)
  },

  async 'a role must not have capabilities that the caller lacks'({ fail, platform, owner }) {
    const maker = await platform.addIdentityWith(owner.organization, ['CAP_IAM_ROLES_CREATE'])
    assert.equal((await fail(v1.create, { parentId: owner.organization, role }, maker.token)).code, 7)
  },

  async 'a list can be filtered by parent, which is a group, or / for the built-in roles'({
    succeed,
    fail,
    door,
    owner,
  }) {
    const parent = owner.organization
    const { id } = await succeed(v1.create, { parentId: parent, role })
    const namesOf = async (filter: JsonObject) =>
      itemsOf(await succeed(v1.list, filter)).map(({ name }) => name)
    assert.deepEqual(await namesOf({ parent }), ['auditor'])
    const builtIns = builtInRoles.map(({ name }) => name)
    assert.deepEqual((await namesOf({ parent: '/' })).sort(), [...builtIns].sort())
    assert.deepEqual(await namesOf({ parent: '/', name: 'viewer' }), ['viewer'])
    // `door.call`, because `succeed` would compare the lists of the two doors. Their order depends on the uid of the
    // organization, and the example runs once for each door, each time in a new organization.
    const { body } = await door.call(v1.list, {}, owner.token)
    assert.equal(itemsOf(body ?? {}).length, builtIns.length + 1)
    assert.deepEqual(await namesOf({ parent: '/', id: id as string }), [])
    assert.deepEqual(await namesOf({ parent, uidp: { childrenOf: '0'.repeat(40) } }), [])
    assert.deepEqual(await namesOf({ parent, uidp: { childrenOf: parent } }), ['auditor'])
    assert.deepEqual(await namesOf({ parent: '0'.repeat(40) }), [])
    assert.deepEqual(violations(await fail(v1.list, { parent: 'acme' })), ['parent'])
  },

  async 'a bound role cannot be deleted, and the error has a message and no details'({
    succeed,
    fail,
    owner,
  }) {
    const parent = owner.organization
    const { id } = await succeed(v1.create, { parentId: parent, role })
    const roleBinding = { identityUid: owner.identity, roleUid: id as string }
    const { createRoleBinding, deleteRoleBinding } = RoleBindingsService.method
    const { uid } = await succeed(createRoleBinding, { parent, roleBinding })
    const error = await fail(v1.delete, { id: id as string })
    assert.equal(error.code, 9)
    assert.equal(detail(error, 'PreconditionFailure'), undefined)
    await succeed(deleteRoleBinding, { uid: uid as string })
    await succeed(v1.delete, { id: id as string })
    assert.deepEqual(await succeed(v1.list, { id: id as string }), { items: [] })
    assert.equal((await fail(v1.delete, { id: builtInRole('viewer').uid })).code, 7)
  },
})
