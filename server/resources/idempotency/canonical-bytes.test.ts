import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { CreateIdentityRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { canonicalBytes } from './canonical-bytes.ts'

const requestWith = (claims: Record<string, string>) =>
  create(CreateIdentityRequestSchema, {
    parent: 'p',
    identity: { name: 'n', relationship: { case: 'claimMatch', value: { claims } } },
  })

test('the order of the entries of a map does not matter', () => {
  const bytesOf = (claims: Record<string, string>) =>
    canonicalBytes(CreateIdentityRequestSchema, requestWith(claims))
  const request = requestWith({ b: '1', a: '2' })
  const bytes = canonicalBytes(CreateIdentityRequestSchema, request)
  assert.deepEqual(bytes, bytesOf({ a: '2', b: '1' }))
  assert.notDeepEqual(bytes, bytesOf({ a: '1', b: '2' }))
  assert.deepEqual(request, requestWith({ b: '1', a: '2' }), 'the request is unchanged')
})

test('the order of the entries does not matter in a map with numbers as keys and messages as values', () => {
  const bytesOf = (...ids: string[]) =>
    canonicalBytes(
      AccountAssociationSchema,
      create(AccountAssociationSchema, {
        github: { appInstallations: Object.fromEntries(ids.map((id) => [id, {}])) },
      }),
    )
  // JavaScript keeps the order of these keys, unlike that of small positive integers.
  assert.deepEqual(bytesOf('-2', '4294967296', '-1'), bytesOf('-1', '4294967296', '-2'))
})
