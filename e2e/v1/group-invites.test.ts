// Invites through v1, where the create request contains the fields of the invite directly, not in a nested message.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const v1 = GroupInvites.method
const v2 = GroupInvitesService.method

const viewer = builtInRole('viewer')
const inviteFields = { role: viewer.uid, email: 'ada@example.test', singleUse: true }

const invite = ({ succeed, owner }: ExampleContext, fields: JsonObject = {}) =>
  succeed(v1.create, { group: owner.organization, ttl: '3600s', ...inviteFields, ...fields })
const itemsOf = (list: JsonObject) => list.items as JsonObject[]

examples('invites of v1', {
  async 'an invite created by v1 is visible in v2, and only the create response has the code'(stage) {
    const { id, code, keyId, expiration, role } = await invite(stage)
    const decoded = Buffer.from(code as string, 'base64').toString()
    assert.ok(decoded.startsWith(`{"grp":"${stage.owner.organization}"`))
    assert.equal((role as JsonObject).name, 'viewer')
    assert.deepEqual(
      [...((role as JsonObject).capabilities as string[])].sort(),
      [...new Set(viewer.capabilities)].sort(),
    )
    const stored = await stage.succeed(v2.getGroupInvite, { uid: id as string })
    assert.deepEqual([stored.keyId, stored.expirationTime], [keyId, expiration])
    assert.deepEqual(
      [stored.roleUid, stored.email, stored.singleUse],
      [inviteFields.role, inviteFields.email, true],
    )
    const [item] = itemsOf(await stage.succeed(v1.list, { id: id as string }))
    const { createdAt, ...rest } = item as JsonObject
    assert.equal(createdAt, stored.createTime)
    assert.deepEqual(rest, { id, keyId, expiration, role, email: inviteFields.email, singleUse: true })
  },

  async 'invites are listed by group, id and key id'(stage) {
    const { succeed, fail, owner } = stage
    const { id, keyId } = await invite(stage)
    await invite(stage, { email: '' })
    const idsOf = async (filter: JsonObject) => itemsOf(await succeed(v1.list, filter)).map((item) => item.id)
    assert.equal((await idsOf({ group: owner.organization })).length, 2)
    assert.deepEqual(await idsOf({ keyId: keyId as string }), [id])
    assert.deepEqual(await idsOf({ group: owner.organization, id: id as string }), [id])
    assert.deepEqual(await idsOf({ group: '0'.repeat(40), id: id as string }), [])
    assert.deepEqual(violations(await fail(v1.list, { group: 'acme' })), ['group'])
    assert.deepEqual(violations(await fail(v1.list, { id: 'acme' })), ['id'])
  },

  async 'a deleted role is shown by its id only'(stage) {
    const { succeed, owner } = stage
    const role = await make(stage, RolesService.method.createRole, {
      parent: owner.organization,
      role: { name: 'reader', capabilities: ['CAP_IAM_GROUPS_LIST'] },
    })
    const { id } = await invite(stage, { role })
    await succeed(RolesService.method.deleteRole, { uid: role })
    const [item] = itemsOf(await succeed(v1.list, { id: id as string }))
    assert.deepEqual(item?.role, { id: role, name: '', description: '', capabilities: [] })
  },

  async 'errors name the fields of v1'({ fail, owner }) {
    const refuse = async (fields: JsonObject) =>
      violations(await fail(v1.create, { group: owner.organization, ...inviteFields, ...fields }))
    assert.deepEqual(await refuse({}), ['ttl'])
    assert.deepEqual(await refuse({ ttl: '3600s', role: '' }), ['role'])
    assert.deepEqual(await refuse({ ttl: '3600s', role: 'viewer' }), ['role'])
    assert.deepEqual(await refuse({ ttl: '3600s', email: 'ada' }), ['email'])
  },

  async 'deleting a deleted invite succeeds'(stage) {
    const { id } = await invite(stage)
    await stage.succeed(v1.delete, { id: id as string })
    assert.deepEqual(await stage.succeed(v1.list, { id: id as string }), { items: [] })
    await stage.succeed(v1.delete, { id: id as string })
  },
})
