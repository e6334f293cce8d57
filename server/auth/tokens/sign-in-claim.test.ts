import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Code } from '../../aip/code.ts'
import { signInClaim, signInOf } from './sign-in-claim.ts'

const person = 'a'.repeat(40)
const workload = `${person}/${'b'.repeat(16)}`

describe('the sign-in of a token', () => {
  test('is read as it was written', () => {
    for (const id of ['', 'family']) {
      const signIn = { person, signedInAt: 7, id }
      assert.deepEqual(signInOf({ sub: workload, iat: 9, ...signInClaim(signIn) }), signIn)
    }
  })

  test('began when the token was issued, if the token of a person lacks the claim sign_in', () => {
    assert.deepEqual(signInOf({ sub: person, iat: 9 }), { person, signedInAt: 9, id: '' })
  })

  test('is undefined if the token of a workload lacks the claim sign_in', () => {
    assert.equal(signInOf({ sub: workload, iat: 9 }), undefined)
  })

  test('is refused if it is malformed', () => {
    for (const claim of [
      null,
      'x',
      [],
      {},
      { sub: person },
      { sub: 1, time: 1 },
      { sub: person, time: 1, id: 1 },
    ])
      assert.throws(() => signInOf({ sub: person, iat: 9, sign_in: claim }), { code: Code.UNAUTHENTICATED })
  })
})
