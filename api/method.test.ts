import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Capability } from './gen/capabilities/capability_pb.ts'
import {
  CreateGroupRequestSchema,
  GetGroupRequestSchema,
  GroupSchema,
  GroupsService,
  ListGroupsRequestSchema,
  UpdateGroupRequestSchema,
} from './gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from './gen/platform/iam/v2beta1/identity_pb.ts'
import { describeMethod, describeMethods, isImmutable, isOutputOnly, isRequired, scopeOf } from './method.ts'

const { getGroup, listGroups, createGroup, updateGroup, deleteGroup } = GroupsService.method

describe('a method', () => {
  test('tells its http rule: verb, path and the field of the body', () => {
    const bindings = describeMethods(GroupsService).map(({ desc, bindings: [first, ...more] }) => {
      assert.deepEqual(more, [])
      return [desc.name, first?.verb, first?.path, first?.body]
    })
    assert.deepEqual(bindings, [
      ['GetGroup', 'GET', '/iam/v2beta1/groups/{uid=**}', ''],
      ['DeleteGroup', 'DELETE', '/iam/v2beta1/groups/{uid=**}', ''],
      ['ListGroups', 'GET', '/iam/v2beta1/groups', ''],
      ['CreateGroup', 'POST', '/iam/v2beta1/groups/{parent=**}', 'group'],
      ['UpdateGroup', 'PATCH', '/iam/v2beta1/groups/{group.uid=**}', 'group'],
      ['LookupGroup', 'GET', '/iam/v2beta1/groups:lookupGroup', ''],
      ['RequestGroupAccess', 'POST', '/iam/v2beta1/groups/{group_uid=**}:requestGroupAccess', '*'],
      ['CheckEligibility', 'GET', '/iam/v2beta1/groups:checkEligibility', ''],
    ])
  })

  test('tells its names, the one of the contract and the one of gRPC', () => {
    const { name, grpcPath } = describeMethod(getGroup)
    assert.equal(name, 'platform.iam.v2beta1.GroupsService.GetGroup')
    assert.equal(grpcPath, '/platform.iam.v2beta1.GroupsService/GetGroup')
  })

  test('tells what its caller must be allowed to do, and whether it may name no place', () => {
    const accessOf = (desc: typeof getGroup | typeof listGroups) => {
      const { access } = describeMethod(desc)
      return [access?.capabilities, access?.unscoped]
    }
    assert.deepEqual(accessOf(getGroup), [[Capability.CAP_IAM_GROUPS_LIST], false])
    assert.deepEqual(accessOf(listGroups), [[Capability.CAP_IAM_GROUPS_LIST], true])
    assert.deepEqual(describeMethod(deleteGroup).access?.capabilities, [Capability.CAP_IAM_GROUPS_DELETE])
  })

  test('tells which field of its request is the resource', () => {
    assert.equal(describeMethod(createGroup).resource?.message, GroupSchema)
    assert.equal(describeMethod(updateGroup).resource?.message, GroupSchema)
    assert.equal(describeMethod(getGroup).resource, undefined)
  })
})

describe('the scope of a request', () => {
  test('is the uid at which access is checked, also inside the resource', () => {
    const uid = 'a/b'
    assert.equal(scopeOf(describeMethod(getGroup), create(GetGroupRequestSchema, { uid })), uid)
    assert.equal(scopeOf(describeMethod(createGroup), create(CreateGroupRequestSchema, { parent: uid })), uid)
    assert.equal(
      scopeOf(describeMethod(updateGroup), create(UpdateGroupRequestSchema, { group: { uid } })),
      uid,
    )
  })

  test('is empty where the request names none', () => {
    assert.equal(scopeOf(describeMethod(getGroup), create(GetGroupRequestSchema)), '')
    assert.equal(scopeOf(describeMethod(updateGroup), create(UpdateGroupRequestSchema)), '')
    const filtered = create(ListGroupsRequestSchema, { uidp: { descendantsOf: 'a' } })
    assert.equal(scopeOf(describeMethod(listGroups), filtered), '')
  })

  test('does not come from the uid that a new resource claims to have', () => {
    const request = create(CreateGroupRequestSchema, { group: { uid: 'elsewhere' } })
    assert.equal(scopeOf(describeMethod(createGroup), request), '')
  })
})

describe('a field', () => {
  test('tells whether callers must set it, and whether they can', () => {
    const { name, uid, description, createTime } = GroupSchema.field
    assert.deepEqual([name, uid, description, createTime].map(isRequired), [true, false, false, false])
    assert.deepEqual([name, uid, description, createTime].map(isOutputOnly), [false, true, false, true])
    assert.ok(!GroupSchema.fields.some(isImmutable))
    assert.ok(isOutputOnly(IdentitySchema.field.lastSeenTime))
  })
})
