import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GroupSchema, ListGroupsRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { jsonPathOf, resolvePath, toCamel } from './field-path.ts'

const namesOf = (path: string) => resolvePath(IdentitySchema, path)?.map(({ name }) => name)

describe('a path', () => {
  test('can lead into messages, with each segment in proto or JSON spelling', () => {
    for (const path of ['claim_match.issuer', 'claimMatch.issuer']) {
      assert.deepEqual(namesOf(path), ['claim_match', 'issuer'])
    }
    assert.deepEqual(namesOf('claim_match'), ['claim_match'])
  })

  test('cannot lead into times, lists and maps', () => {
    assert.equal(namesOf('create_time.seconds'), undefined)
    assert.equal(resolvePath(GroupSchema, 'resource_limits.clusters'), undefined)
    assert.equal(resolvePath(RoleSchema, 'capabilities.0'), undefined)
    assert.equal(resolvePath(ListGroupsRequestSchema, 'uidp.ids.0'), undefined)
  })

  test('resolves to undefined if a segment is not a field', () => {
    const paths = ['', '.', 'claim_match.', '.claim_match', 'claim_match..issuer', 'nothing', 'name.first']
    for (const path of [...paths, 'constructor', '__proto__', 'claim_match.__proto__', 'ClaimMatch']) {
      assert.equal(namesOf(path), undefined, path)
    }
  })
})

describe('the JSON spelling of a path', () => {
  test('is the JSON name of the field if the path is a single field', () => {
    for (const { fields } of [
      GroupSchema,
      IdentitySchema,
      RoleSchema,
      RoleBindingSchema,
      ListGroupsRequestSchema,
    ]) {
      for (const { name, jsonName } of fields) assert.equal(toCamel(name), jsonName)
    }
  })

  test('does not convert indexes and keys', () => {
    assert.equal(toCamel('requests[2].role_uid'), 'requests[2].roleUid')
    assert.equal(toCamel('claim_match.claim_patterns[my_key]'), 'claimMatch.claimPatterns[my_key]')
  })

  test('follows the names that the contract declares, also inside of messages and lists', () => {
    for (const [path, json] of [
      ['sync_config.expiration_time', 'sync_config.expirationTime'],
      ['custom_overlay.accounts.users[2].group_name', 'customOverlay.accounts.users[2].groupName'],
      ['custom_overlay.environment[a.b_c]', 'customOverlay.environment[a.b_c]'],
      ['create_time', 'createTime'],
      ['parent_id', 'parentId'],
      ['a_b.c_d', 'aB.cD'],
      ['', ''],
    ] as const)
      assert.equal(jsonPathOf(RepoSchema, path), json)
  })
})
