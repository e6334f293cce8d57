import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedDataVersionTag } from 'node:v8'
import { exposeGarbageCollector } from './v8-garbage-collector.ts'

test('garbage can be collected, and code in the compile cache stays valid', async () => {
  const before = cachedDataVersionTag()
  const collectGarbage = exposeGarbageCollector()
  assert.equal(cachedDataVersionTag(), before)
  const garbage = new WeakRef({})
  // The target of a new WeakRef is kept until the end of the turn.
  await new Promise(setImmediate)
  collectGarbage()
  assert.equal(garbage.deref(), undefined)
})
