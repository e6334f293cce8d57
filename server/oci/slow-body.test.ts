import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openRunningPulls, openRunningUploads } from './running-transfers.ts'
import { watchBody } from './slow-body.ts'

const rate = { bytes: 100, periodMs: 1000 }

/** A body that is watched on a mocked clock, and not read yet. */
function watchedBody({ mock }: TestContext) {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const body = new PassThrough()
  const { signal, stop } = watchBody(body, rate, Date.now)
  return {
    ...{ body, signal, stop },
    async resume() {
      body.resume()
      await nextTurn()
    },
    async arrive(bytes: number) {
      body.write(Buffer.alloc(bytes))
      await nextTurn()
    },
    pass: (milliseconds: number) => mock.timers.tick(milliseconds),
  }
}

test('a body is ended when less than the minimum arrives in a period', async (t) => {
  const { signal, stop, resume, arrive, pass } = watchedBody(t)
  await resume()
  for (const bytes of [100, 500]) {
    await arrive(bytes)
    pass(1000)
  }
  assert.equal(signal.aborted, false)
  await arrive(99)
  pass(1000)
  assert.equal(signal.aborted, true)
  stop()
})

test('the time in which the server has paused a body does not count', async (t) => {
  const { body, signal, stop, resume, pass } = watchedBody(t)
  pass(5000)
  await resume()
  pass(600)
  body.pause()
  pass(5000)
  await resume()
  pass(399)
  assert.equal(signal.aborted, false)
  pass(1)
  assert.equal(signal.aborted, true)
  stop()
})

test('pauses do not restart the period, so a slow body is still ended', async (t) => {
  const { body, signal, stop, resume, arrive, pass } = watchedBody(t)
  await resume()
  for (let part = 0; part < 10; part++) {
    assert.equal(signal.aborted, false)
    await arrive(1)
    body.pause()
    await resume()
    pass(100)
  }
  assert.equal(signal.aborted, true)
  stop()
})

test('a body that has arrived completely is not too slow, however long it takes to store it', async (t) => {
  const { body, signal, stop, resume, pass } = watchedBody(t)
  await resume()
  body.end('x')
  await nextTurn()
  pass(5000)
  assert.equal(signal.aborted, false)
  stop()
})

test('running uploads are limited for each caller and in total, and counted until they end', () => {
  const { start } = openRunningUploads({ caller: 2, total: 3 })
  const [first] = [start('a', 'one/repo'), start('a', 'one/repo')]
  assert.throws(() => start('a', 'two/repo'), /at most 2 of your uploads/)
  start('b', 'two/repo')
  assert.throws(() => start('c', 'two/repo'), /too many uploads/)
  first?.()
  start('c', 'two/repo')
  assert.throws(() => start('a', 'three/repo'), /too many uploads/)
  const unlimited = openRunningUploads({ caller: 0, total: 0 })
  for (let count = 0; count < 100; count++) unlimited.start('a', 'one/repo')
})

test('running uploads to one organization may be at most a quarter of the total limit', () => {
  const { start } = openRunningUploads({ caller: 4, total: 32 })
  const [one, two] = ['1'.repeat(40), '2'.repeat(40)]
  const ends = ['a', 'b'].flatMap((caller) =>
    Array.from({ length: 4 }, (_, at) => start(caller, `${one}/group/${at}`)),
  )
  assert.throws(() => start('c', `${one}/other`), /at most 8 uploads to the organization/)
  start('c', `${two}/repo`)
  ends[0]?.()
  start('c', `${one}/other`)
  assert.throws(() => start('d', `${one}/other`), /at most 8 uploads to the organization/)
})

test('pulls are limited for each network and for each organization whose blobs are sent', () => {
  const { start } = openRunningPulls({ network: 2, total: 12 })
  const [one, two] = ['1'.repeat(40), '2'.repeat(40)]
  const [first] = [start('2001:db8::1', `${one}/repo`), start('2001:db8::2', `${two}/repo`)]
  assert.throws(() => start('2001:db8::3', `${two}/repo`), /at most 2 blobs may be sent to your network/)
  start('192.0.2.1', `${one}/repo`)
  start('192.0.2.2', `${one}/other`)
  assert.throws(() => start('192.0.2.3', `${one}/repo`), /at most 3 blobs of the organization/)
  start('192.0.2.3', `${two}/repo`)
  first?.()
  start('192.0.2.3', `${one}/repo`)
})
