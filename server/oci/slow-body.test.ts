import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { openRunningBodies } from './running-bodies.ts'
import { watchBody } from './slow-body.ts'

const rate = { bytes: 100, periodMs: 1000 }

test('a body is ended when less than the minimum arrives in a period', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const body = new PassThrough()
  const { signal, stop } = watchBody(body, rate)
  body.resume()
  const arrive = async (bytes: number) => {
    body.write(Buffer.alloc(bytes))
    await new Promise(setImmediate)
    t.mock.timers.tick(1000)
  }
  await arrive(100)
  await arrive(500)
  assert.equal(signal.aborted, false)
  await arrive(99)
  assert.equal(signal.aborted, true)
  stop()
})

test('a body that the server has paused is not too slow', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const body = new PassThrough()
  const { signal, stop } = watchBody(body, rate)
  t.mock.timers.tick(1000)
  body.resume()
  body.pause()
  body.resume()
  t.mock.timers.tick(1000)
  assert.equal(signal.aborted, false)
  t.mock.timers.tick(1000)
  assert.equal(signal.aborted, true)
  stop()
})

test('running bodies are limited for each caller and in total, and counted until they end', () => {
  const { start } = openRunningBodies({ caller: 2, total: 3 })
  const [first] = [start('a'), start('a')]
  assert.throws(() => start('a'), /at most 2 of your uploads/)
  start('b')
  assert.throws(() => start('c'), /too many uploads/)
  first?.()
  start('c')
  assert.throws(() => start('a'), /too many uploads/)
  const unlimited = openRunningBodies({ caller: 0, total: 0 })
  for (let count = 0; count < 100; count++) unlimited.start('a')
})
