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
import {
  IdentitiesService,
  IdentityMetadataSchema,
  IdentitySchema,
} from './gen/platform/iam/v2beta1/identity_pb.ts'
import { describeMethod, describeMethods, isImmutable, isOutputOnly, isRequired, scopeOf } from './method.ts'

const { getGroup, listGroups, createGroup, updateGroup, deleteGroup } = GroupsService.method

describe('a method', () => {
  test('has the verb, path and body of its http rule', () => {
    const bindings = describeMethods(GroupsService).map(({ desc, bindings: [first, ...additional] }) => {
      assert.deepEqual(additional, [])
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
      ['SetGroupLimits', 'POST', '/iam/v2beta1/groups/{uid=**}:setLimits', '*'],
      ['GetGroupUsage', 'GET', '/iam/v2beta1/groups/{uid=**}:usage', ''],
      ['CheckEligibility', 'GET', '/iam/v2beta1/groups:checkEligibility', ''],
    ])
  })

  test('has its name in the contract and its gRPC path', () => {
    const { name, grpcPath } = describeMethod(getGroup)
    assert.equal(name, 'platform.iam.v2beta1.GroupsService.GetGroup')
    assert.equal(grpcPath, '/platform.iam.v2beta1.GroupsService/GetGroup')
  })

  test('has the access that its caller needs', () => {
    const accessOf = (desc: typeof getGroup | typeof listGroups) => {
      const { access } = describeMethod(desc)
      return [access?.capabilities, access?.scopeOptional]
    }
    assert.deepEqual(accessOf(getGroup), [[Capability.CAP_IAM_GROUPS_LIST], false])
    assert.deepEqual(accessOf(listGroups), [[Capability.CAP_IAM_GROUPS_LIST], true])
    assert.deepEqual(describeMethod(deleteGroup).access?.capabilities, [Capability.CAP_IAM_GROUPS_DELETE])
  })

  test('has the request field that contains the resource', () => {
    assert.equal(describeMethod(createGroup).resource?.message, GroupSchema)
    assert.equal(describeMethod(updateGroup).resource?.message, GroupSchema)
    assert.equal(describeMethod(getGroup).resource, undefined)
    // The whole request is the body, and contains a mask beside the resource.
    const { updateIdentityMetadata } = IdentitiesService.method
    assert.equal(describeMethod(updateIdentityMetadata).resource?.message, IdentityMetadataSchema)
  })
})

describe('the scope of a request', () => {
  test('is the uid at which access is checked, even if it is a field of the resource in the request', () => {
    const uid = 'a/b'
    assert.equal(scopeOf(describeMethod(getGroup), create(GetGroupRequestSchema, { uid })), uid)
    assert.equal(scopeOf(describeMethod(createGroup), create(CreateGroupRequestSchema, { parent: uid })), uid)
    assert.equal(
      scopeOf(describeMethod(updateGroup), create(UpdateGroupRequestSchema, { group: { uid } })),
      uid,
    )
  })

  test('is empty if the request has none', () => {
    assert.equal(scopeOf(describeMethod(getGroup), create(GetGroupRequestSchema)), '')
    assert.equal(scopeOf(describeMethod(updateGroup), create(UpdateGroupRequestSchema)), '')
    const filtered = create(ListGroupsRequestSchema, { uidp: { descendantsOf: 'a' } })
    assert.equal(scopeOf(describeMethod(listGroups), filtered), '')
  })

  test('is not read from the uid in a new resource', () => {
    const request = create(CreateGroupRequestSchema, { group: { uid: 'elsewhere' } })
    assert.equal(scopeOf(describeMethod(createGroup), request), '')
  })
})

describe('a field', () => {
  test('has its behaviour: required, output-only, immutable', () => {
    const { name, uid, description, createTime } = GroupSchema.field
    assert.deepEqual([name, uid, description, createTime].map(isRequired), [true, false, false, false])
    assert.deepEqual([name, uid, description, createTime].map(isOutputOnly), [false, true, false, true])
    assert.ok(!GroupSchema.fields.some(isImmutable))
    assert.ok(isOutputOnly(IdentitySchema.field.lastSeenTime))
  })
})
