import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepLease } from './upload-lease.ts'

test('a lease is extended every 15 seconds, and given up before it expires if that fails', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let time = 0
  let extensions = 0
  let isBroken = false
  const lease = keepLease(
    async () => {
      extensions++
      if (isBroken) throw new Error('the store is gone')
    },
    () => time,
  )
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      time += 1000
      t.mock.timers.tick(1000)
      await Promise.resolve()
    }
  }
  await pass(600)
  assert.deepEqual([extensions, lease.signal.aborted], [40, false])
  isBroken = true
  await pass(30)
  assert.equal(lease.signal.aborted, false)
  await pass(15)
  assert.equal(lease.signal.aborted, true)
  lease.stop()
  await pass(60)
  assert.equal(extensions, 43)
})
