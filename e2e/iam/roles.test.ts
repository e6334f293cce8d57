// Built-in roles, which every organization can use, and custom roles, which cannot have more capabilities than their
// creator.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole, builtInRoles } from '../../server/policy/built-in-roles.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'

const { getRole, listRoles, createRole, updateRole, deleteRole } = RolesService.method
const { createRoleBinding, deleteRoleBinding } = RoleBindingsService.method

const capabilities = ['CAP_IAM_ROLES_LIST', 'CAP_IAM_GROUPS_LIST', 'CAP_IAM_ROLES_LIST']
const names = (list: JsonObject) => (list.roles as { name: string }[]).map(({ name }) => name)

examples('roles', {
  async 'a new role has its capabilities sorted and without duplicates'({ succeed, owner }) {
    const parent = owner.organization
    const role = await succeed(createRole, { parent, role: { name: 'auditor', capabilities } })
    const { uid, createTime, updateTime, ...rest } = role
    assert.deepEqual(rest, {
      name: 'auditor',
      description: '',
      capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_IAM_ROLES_LIST'],
    })
    assert.equal(updateTime, createTime)
    assert.deepEqual(await succeed(getRole, { uid: uid as string }), role)
  },

  async 'a list without a filter shows the built-in roles to everyone who may list roles'({
    succeed,
    owner,
  }) {
    await succeed(createRole, { parent: owner.organization, role: { name: 'own', capabilities } })
    const all = await succeed(listRoles, { orderBy: 'name' })
    assert.deepEqual(names(all), [...builtInRoles.map(({ name }) => name), 'own'].sort())
    assert.equal(all.totalCount, String(builtInRoles.length + 1))
    assert.deepEqual(names(await succeed(listRoles, { name: 'viewer' })), ['viewer'])
    const inRoot = await succeed(listRoles, { uidp: { inRoot: true }, pageSize: 3, orderBy: 'name' })
    assert.deepEqual([names(inRoot).length, inRoot.totalCount], [3, String(builtInRoles.length)])
    const below = await succeed(listRoles, { uidp: { descendantsOf: owner.organization } })
    assert.deepEqual(names(below), ['own'])
  },

  async 'callers who may list roles anywhere can read built-in roles'({ succeed, fail, platform, owner }) {
    const { uid } = builtInRole('owner')
    const viewer = await platform.addIdentity(owner.organization, 'viewer')
    const puller = await platform.addIdentity(owner.organization, 'apk.pull')
    assert.equal((await succeed(getRole, { uid }, viewer.token)).name, 'owner')
    assert.equal((await fail(getRole, { uid }, puller.token)).code, 7)
    assert.equal((await succeed(listRoles, {}, puller.token)).totalCount, '0')
    assert.equal((await fail(getRole, { uid: '0'.repeat(40) }, viewer.token)).code, 5)
  },

  async 'built-in roles cannot be changed'({ fail }) {
    const { uid } = builtInRole('viewer')
    assert.equal((await fail(updateRole, { role: { uid, description: 'mine' } })).code, 7)
    assert.equal((await fail(deleteRole, { uid })).code, 7)
  },

  async 'a role has at least one capability and no unknown ones'({ fail, owner }) {
    const parent = owner.organization
    assert.deepEqual(violations(await fail(createRole, { parent, role: { name: 'a' } })), ['capabilities'])
    const unknown = { name: 'a', capabilities: ['UNKNOWN'] }
    assert.deepEqual(violations(await fail(createRole, { parent, role: unknown })), ['capabilities'])
  },

  async 'two roles of a group cannot have the same name'({ succeed, fail, owner }) {
    const parent = owner.organization
    await succeed(createRole, { parent, role: { name: 'same', capabilities } })
    const error = await fail(createRole, { parent, role: { name: 'same', capabilities } })
    assert.equal(error.code, 6)
    const { uid } = await succeed(createRole, { parent, role: { name: 'else', capabilities } })
    assert.equal((await fail(updateRole, { role: { uid: uid as string, name: 'same' } })).code, 6)
    assert.equal((await succeed(getRole, { uid: uid as string })).name, 'else')
  },

  async 'a role cannot have more capabilities than the caller has in the group'({
    succeed,
    fail,
    platform,
    owner,
  }) {
    const parent = owner.organization
    const maker = await platform.addIdentityWith(parent, [
      'CAP_IAM_ROLES_CREATE',
      'CAP_IAM_ROLES_UPDATE',
      'CAP_IAM_GROUPS_LIST',
    ])
    const wide = {
      parent,
      role: { name: 'wide', capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_IAM_GROUPS_DELETE'] },
    }
    const error = await fail(createRole, wide, maker.token)
    assert.equal(error.code, 7)
    assert.match(error.message, /who holds groups\.delete/)
    const narrow = { parent, role: { name: 'narrow', capabilities: ['CAP_IAM_GROUPS_LIST'] } }
    const { uid } = (await succeed(createRole, narrow, maker.token)) as { uid: string }
    const widen = { role: { uid, capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_IAM_GROUPS_DELETE'] } }
    assert.equal((await fail(updateRole, widen, maker.token)).code, 7)
    await succeed(updateRole, widen)
    // Capabilities that the role has already are not checked again.
    const rename = { role: { uid, name: 'renamed' } }
    assert.equal((await succeed(updateRole, rename, maker.token)).name, 'renamed')
  },

  async 'a change of a role takes effect on the next call'({ succeed, fail, platform, owner }) {
    const { token, role } = await platform.addIdentityWith(owner.organization, ['CAP_IAM_ROLES_LIST'])
    const request = { parent: owner.organization, role: { name: 'x', capabilities: ['CAP_IAM_ROLES_LIST'] } }
    assert.equal((await fail(createRole, request, token)).code, 7)
    const wider = ['CAP_IAM_ROLES_LIST', 'CAP_IAM_ROLES_CREATE']
    await succeed(updateRole, { role: { uid: role, capabilities: wider } })
    await succeed(createRole, request, token)
  },

  async 'a role that is bound cannot be deleted'(stage) {
    const { succeed, fail, owner, platform } = stage
    const parent = owner.organization
    const roleUid = await make(stage, createRole, { parent, role: { name: 'bound', capabilities } })
    const { identity } = await platform.addIdentity(parent)
    const roleBinding = { identityUid: identity, roleUid }
    const binding = await make(stage, createRoleBinding, { parent, roleBinding })
    const error = await fail(deleteRole, { uid: roleUid })
    assert.equal(error.code, 9)
    assert.match(JSON.stringify(detail(error, 'PreconditionFailure')), /RESOURCE_IN_USE/)
    await succeed(deleteRoleBinding, { uid: binding })
    await succeed(deleteRole, { uid: roleUid })
    assert.equal((await fail(deleteRole, { uid: roleUid })).code, 5)
  },
})
