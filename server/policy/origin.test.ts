import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteAccess } from '../store/write-access.ts'
import { asExpiry, systemOrigin } from './origin.ts'

test('events of an expiry and of the caller share one numbering, in whatever order both write', () => {
  const access = { origin: systemOrigin('rest', 'CreateRoleBinding') } as WriteAccess // proofs exist only as types
  const numberOf = ({ origin }: WriteAccess) => origin?.nextNumber()
  const numbers = [asExpiry(access), access, asExpiry(access), access].map(numberOf)
  assert.deepEqual(numbers, [0, 1, 2, 3])
  assert.equal(asExpiry(access).origin?.method, 'expiry')
})
