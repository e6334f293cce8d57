import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Code } from '../../aip/code.ts'
import { attemptPassword } from './attempt-password.ts'
import { limitPasswords, openPasswords } from './passwords.ts'
import { openSignInThrottles } from './sign-in-throttles.ts'

const address = '192.0.2.1'
const tooManyWait = { code: Code.RESOURCE_EXHAUSTED, message: /too many people are signing in/ }
const tooManyFailed = { code: Code.RESOURCE_EXHAUSTED, message: /too many attempts have failed/ }

test('attempts that are refused because too many people sign in do not count as failed', async () => {
  const passwords = openPasswords(randomBytes, { N: 1024, r: 8, p: 1 })
  const deps = { usePasswords: limitPasswords(passwords), throttles: openSignInThrottles(() => 0) }
  const attempt = () => attemptPassword(deps, 'ada@example.com', address, async () => 'wrong')
  const end = Promise.withResolvers<void>()
  // Two run, and 64 wait.
  const others = Array.from({ length: 66 }, () => deps.usePasswords(address, () => end.promise))
  for (let count = 0; count < 30; count++) await assert.rejects(attempt(), tooManyWait)
  end.resolve()
  await Promise.all(others)
  for (let count = 0; count < 10; count++) assert.equal(await attempt(), 'wrong')
  await assert.rejects(attempt(), tooManyFailed)
})
