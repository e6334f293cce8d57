import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ownSegments, serviceNames } from './names.ts'

describe('a service', () => {
  test('is v2 as well as v2beta1, with every label or none before it', () => {
    assert.deepEqual(serviceNames('platform.iam.v2beta1.GroupsService', ['a.', 'b.c.']), [
      'platform.iam.v2beta1.GroupsService',
      'platform.iam.v2.GroupsService',
      'a.platform.iam.v2beta1.GroupsService',
      'a.platform.iam.v2.GroupsService',
      'b.c.platform.iam.v2beta1.GroupsService',
      'b.c.platform.iam.v2.GroupsService',
    ])
  })

  test('of v1 has no other version', () => {
    assert.deepEqual(serviceNames('platform.iam.Groups', []), ['platform.iam.Groups'])
  })
})

describe('a path', () => {
  const own = (path: string) => ownSegments(path.split('/')).join('/')

  test('of v2 is one of v2beta1', () => {
    assert.equal(own('iam/v2/groups/a/v2'), 'iam/v2beta1/groups/a/v2')
    assert.equal(own('iam/v2/groups:lookupGroup'), 'iam/v2beta1/groups:lookupGroup')
  })

  test('of anything else is itself', () => {
    for (const path of ['iam/v2beta1/groups', 'iam/v1/groups', 'v2/iam', 'iam/v20/groups', 'iam/v2:x', ''])
      assert.equal(own(path), path)
  })
})
