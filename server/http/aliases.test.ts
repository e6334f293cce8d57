import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { canonicalSegments, serviceNames } from './aliases.ts'

describe('service names', () => {
  test('are the v2beta1 name and the v2 name, alone and with each vendor prefix', () => {
    assert.deepEqual(serviceNames('platform.iam.v2beta1.GroupsService', ['a.', 'b.c.']), [
      'platform.iam.v2beta1.GroupsService',
      'platform.iam.v2.GroupsService',
      'a.platform.iam.v2beta1.GroupsService',
      'a.platform.iam.v2.GroupsService',
      'b.c.platform.iam.v2beta1.GroupsService',
      'b.c.platform.iam.v2.GroupsService',
    ])
  })

  test('of v1 have no other version', () => {
    assert.deepEqual(serviceNames('platform.iam.Groups', []), ['platform.iam.Groups'])
  })
})

describe('the segments of a path', () => {
  const canonical = (path: string) => canonicalSegments(path.split('/')).join('/')

  test('get v2beta1 in place of v2', () => {
    assert.equal(canonical('iam/v2/groups/a/v2'), 'iam/v2beta1/groups/a/v2')
    assert.equal(canonical('iam/v2/groups:lookupGroup'), 'iam/v2beta1/groups:lookupGroup')
  })

  test('are unchanged in other paths', () => {
    for (const path of ['iam/v2beta1/groups', 'iam/v1/groups', 'v2/iam', 'iam/v20/groups', 'iam/v2:x', ''])
      assert.equal(canonical(path), path)
  })
})
