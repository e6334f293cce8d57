import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { ecsOf } from './ecs.ts'

const categoryOf = (action: string) => {
  const uid = 'a'.repeat(40)
  const { event } = ecsOf({ uid, action, group: uid, resource: { kind: 'accounts', uid }, sequence: '1' })
  return (event as JsonObject).category
}

test('changes of passwords, second factors and sessions are in the category authentication', () => {
  for (const action of [
    ...['password-changed', 'passkey-added', 'passkey-removed', 'authenticator-app-added'],
    ...['authenticator-app-removed', 'recovery-codes-made', 'session-ended'],
  ])
    assert.deepEqual(categoryOf(action), ['authentication'], action)
})

test('changes of names and operators are in the category iam', () => {
  for (const action of ['renamed', 'operator-added', 'operator-removed'])
    assert.deepEqual(categoryOf(action), ['iam'], action)
})
