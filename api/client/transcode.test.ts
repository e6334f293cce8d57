// Where the parts of a request go.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GroupsService } from '../gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '../gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '../gen/platform/iam/v2beta1/role_pb.ts'
import { SecurityTokenService } from '../gen/platform/oidc/sts_pb.ts'
import { StemmaError } from './errors.ts'
import { transcode } from './transcode.ts'

const { getGroup, listGroups, createGroup, updateGroup } = GroupsService.method

describe('a request', () => {
  test('goes into path, query and body as its http rule says', () => {
    const request = { uidp: { descendantsOf: 'a/b' }, pageSize: 5, orderBy: 'name desc' }
    assert.deepEqual(transcode(listGroups, request), {
      verb: 'GET',
      target: '/iam/v2beta1/groups?uidp.descendants_of=a%2Fb&page_size=5&order_by=name%20desc',
      body: undefined,
    })
    assert.deepEqual(transcode(updateGroup, { group: { uid: 'a/b', name: 'n' }, updateMask: 'name' }), {
      verb: 'PATCH',
      target: '/iam/v2beta1/groups/a/b?update_mask=name',
      body: { name: 'n' },
    })
    assert.deepEqual(transcode(RoleBindingsService.method.batchCreateRoleBindings, { requests: [] }), {
      verb: 'POST',
      target: '/iam/v2beta1/roleBindings:batchCreate',
      body: { requests: [] },
    })
    assert.deepEqual(transcode(SecurityTokenService.method.exchange, { aud: ['x', 'y'], identity: 'a/b' }), {
      verb: 'POST',
      target: '/sts/exchange?aud=x&aud=y&identity=a%2Fb',
      body: undefined,
    })
  })

  test('leaves the parent out at the root, and keeps an empty uid apart from a list', () => {
    assert.equal(transcode(createGroup, { group: { name: 'n' } }).target, '/iam/v2beta1/groups')
    assert.equal(transcode(getGroup, {}).target, '/iam/v2beta1/groups/')
  })

  test('cannot leave its path', () => {
    assert.equal(transcode(getGroup, { uid: 'a?b#c:osv' }).target, '/iam/v2beta1/groups/a%3Fb%23c%3Aosv')
    for (const uid of ['..', '.', '../roles/a', 'a/../../roles/b'])
      assert.throws(
        () => transcode(RolesService.method.deleteRole, { uid }),
        (error) => error instanceof StemmaError && error.fieldViolations[0]?.field === 'uid',
      )
  })
})
