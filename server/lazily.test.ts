import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lazily } from './lazily.ts'

test('a value is made once, and again only after a failure', async () => {
  let calls = 0
  const make = lazily(async () => {
    calls++
    if (calls === 1) throw new Error('no file handles left')
    return calls
  })
  assert.equal(calls, 0)
  await assert.rejects(make(), /no file handles left/)
  assert.deepEqual(await Promise.all([make(), make()]), [2, 2])
  assert.equal(await make(), 2)
})
