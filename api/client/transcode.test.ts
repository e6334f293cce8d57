import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { RoleBindings } from '../gen/platform/iam/role_binding_json.ts'
import { GroupsService } from '../gen/platform/iam/v2beta1/group_json.ts'
import { RoleBindingsService } from '../gen/platform/iam/v2beta1/role_binding_json.ts'
import { RolesService } from '../gen/platform/iam/v2beta1/role_json.ts'
import { SecurityTokenService } from '../gen/platform/oidc/sts_json.ts'
import { StemmaError } from './stemma-error.ts'
import { transcode } from './transcode.ts'

const { getGroup, listGroups, createGroup, updateGroup } = GroupsService

describe('transcode', () => {
  test('splits a request into path, query and body', () => {
    const request = { uidp: { descendantsOf: 'a/b' }, pageSize: 5, orderBy: 'name desc' }
    assert.deepEqual(transcode(listGroups, request), {
      verb: 'GET',
      target: '/iam/v2beta1/groups?uidp.descendantsOf=a%2Fb&pageSize=5&orderBy=name%20desc',
      body: undefined,
    })
    assert.deepEqual(transcode(updateGroup, { group: { uid: 'a/b', name: 'n' }, updateMask: 'name' }), {
      verb: 'PATCH',
      target: '/iam/v2beta1/groups/a/b?updateMask=name',
      body: { name: 'n' },
    })
    assert.deepEqual(transcode(RoleBindingsService.batchCreateRoleBindings, { requests: [] }), {
      verb: 'POST',
      target: '/iam/v2beta1/roleBindings:batchCreate',
      body: { requests: [] },
    })
    assert.deepEqual(transcode(SecurityTokenService.exchange, { aud: ['x', 'y'], identity: 'a/b' }), {
      verb: 'POST',
      target: '/sts/exchange?aud=x&aud=y&identity=a%2Fb',
      body: undefined,
    })
  })

  test('omits undefined and null from the query, formats dates as JSON does and rejects values without a JSON form', () => {
    const request = { name: undefined, uidp: null, pageToken: new Date(0), skip: 0 } as unknown as JsonObject
    assert.equal(
      transcode(listGroups, request).target,
      '/iam/v2beta1/groups?pageToken=1970-01-01T00%3A00%3A00.000Z&skip=0',
    )
    for (const pageSize of [1n, request])
      assert.throws(
        () => transcode(listGroups, Object.assign(request, { pageSize }) as JsonObject),
        (error) => error instanceof StemmaError && error.fieldViolations[0]?.field === 'request',
      )
  })

  test('sends the query of a read as a form if it is too long for a URL', () => {
    const request = { uidp: { ids: Array<string>(300).fill('a/b') }, pageSize: 200 }
    assert.deepEqual(transcode(listGroups, request), {
      verb: 'POST',
      target: '/iam/v2beta1/groups',
      body: undefined,
      form: `${'uidp.ids=a%2Fb&'.repeat(300)}pageSize=200`,
    })
    const update = { group: { uid: 'a/b' }, updateMask: 'name,'.repeat(1000) }
    assert.equal(transcode(updateGroup, update).form, undefined)
  })

  test('sends an empty body if the body field is not set', () => {
    assert.deepEqual(transcode(updateGroup, {}).body, {})
    assert.deepEqual(transcode(RoleBindings.createBatch, { parent: 'a' }).body, [])
  })

  test('omits an empty parent but keeps the slash before an empty uid', () => {
    assert.equal(transcode(createGroup, { group: { name: 'n' } }).target, '/iam/v2beta1/groups')
    assert.equal(transcode(getGroup, {}).target, '/iam/v2beta1/groups/')
  })

  test('escapes special characters in a uid and rejects uids that lead to another path', () => {
    assert.equal(transcode(getGroup, { uid: 'a?b#c:osv' }).target, '/iam/v2beta1/groups/a%3Fb%23c%3Aosv')
    for (const uid of ['..', '.', '../roles/a', 'a/../../roles/b'])
      assert.throws(
        () => transcode(RolesService.deleteRole, { uid }),
        (error) => error instanceof StemmaError && error.fieldViolations[0]?.field === 'uid',
      )
  })
})
