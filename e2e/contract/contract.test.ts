// Walks the contract and fails for what somebody forgot.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { describeMethods, isRequired } from '@stemma/api/method.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { matrix } from '../iam/access-matrix.ts'
import { allServices } from './contract.ts'

const methods = (await allServices()).flatMap(describeMethods)

describe('every method of the contract', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform('sqlite')
  })
  after(() => platform.stop())

  test('is found at all', () => assert.ok(methods.length >= 5))

  for (const method of methods) {
    test(method.name, () => {
      assert.ok(method.bindings.length > 0, 'has no http rule')
      for (const { verb, path } of method.bindings)
        assert.match(`${verb} ${path}`, /^[A-Z]+ \/(?:[a-z]+\/v[0-9a-z]+|sts)\//)
      assert.ok(method.access, 'has no access option')
      if (!method.access.unscoped && !method.access.open) {
        assert.ok(method.access.capabilities.length > 0, 'asks for no capability')
        const field = method.scope.at(-1)
        assert.equal(field?.fieldKind, 'scalar', 'names no scope')
        assert.ok(field?.scalar === 9, 'has a scope that is no string')
        assert.ok(method.scope[0] && isRequired(method.scope[0]), 'has a scope that may be missing')
      }
      assert.ok(
        platform.app.endpoints.some((endpoint) => endpoint.method.name === method.name && endpoint.handler),
        'is not served',
      )
      assert.ok(Object.hasOwn(matrix, method.name), 'has no row in the access matrix')
    })
  }

  test('and nothing else is in the matrix', () => {
    const names = new Set(methods.map(({ name }) => name))
    assert.deepEqual(
      Object.keys(matrix).filter((name) => !names.has(name)),
      [],
    )
  })
})
