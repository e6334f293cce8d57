// Services that only the server itself calls: nobody else can call or find them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comments } from '@stemma/api/gen/comments.ts'
import { AccessSearchService } from '@stemma/api/gen/platform/iam/search/search_pb.ts'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import { describeMethods, isRequired } from '@stemma/api/method.ts'
import { costClassOf } from '../../server/limits/rate/cost-class.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { isWrite } from '../../server/workers/write-methods.ts'

/** All but `RegistryTokens`, which is open and so requires no capabilities. */
const internalServices = [Content, AccessSearchService]
const methods = internalServices.flatMap(describeMethods)

test('internal services are not in the lists from which doors, reference and clients are made', async () => {
  for (const service of internalServices) assert.ok(!services.includes(service))
  assert.deepEqual(
    Object.keys(comments).filter((name) => /^platform\.(registry\.content|iam\.search)\./.test(name)),
    [],
  )
  const platform = await startPlatform('sqlite')
  try {
    assert.deepEqual(
      platform.app.endpoints.filter(({ method }) => method.isInternal),
      [],
    )
  } finally {
    await platform.stop()
  }
})

test('each internal method states its access, and whether it writes', () => {
  for (const { name, access, scope, bindings, isInternal } of methods) {
    assert.ok(isInternal && bindings.length === 0, name)
    assert.ok(access && access.capabilities.length > 0, name)
    assert.ok(access.scopeOptional || (scope[0] && isRequired(scope[0])), name)
  }
  const reads = methods.filter((method) => !isWrite(method)).map(({ desc }) => desc.name)
  assert.deepEqual(reads, [
    ...[
      'GetBase',
      'GetNamedRepo',
      'GetPushAccess',
      'GetManifest',
      'GetBlob',
      'ListTagNames',
      'ListTagMoves',
      'ListReferrers',
      'GetUpload',
      'ListResources',
      'ListIdentities',
    ],
  ])
  assert.deepEqual(
    methods.map((method) => costClassOf(method) === 'write'),
    methods.map(isWrite),
  )
})
