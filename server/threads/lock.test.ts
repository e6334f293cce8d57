import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { withLock } from './lock.ts'

const module = JSON.stringify(new URL('./lock.ts', import.meta.url).href)
const makeNumber = () => new Int32Array(new SharedArrayBuffer(4))
const longMs = 600_000

/** Starts a thread that runs `task` while it has the lock, and then `afterwards`. Both may use `signal`. */
async function lockInThread(task: string, afterwards = '') {
  const [lock, signal] = [makeNumber(), makeNumber()]
  const script = `
    const { parentPort, workerData: { lock, signal } } = require('node:worker_threads')
    import(${module}).then(({ withLock }) => {
      withLock(lock, () => {
        parentPort.postMessage('locked')
        ${task}
      })
      ${afterwards}
    })`
  const thread = new Worker(script, { eval: true, workerData: { lock, signal } })
  await once(thread, 'message')
  return { lock, signal, thread }
}

describe('a lock between threads', () => {
  test('is waited for while another thread has it', async () => {
    const { lock, signal, thread } = await lockInThread(`
      Atomics.wait(signal, 0, 0, 20)
      Atomics.store(signal, 0, 1)`)
    const isReleased = withLock(lock, () => Atomics.load(signal, 0) === 1, longMs)
    assert.ok(isReleased)
    assert.equal(Atomics.load(lock, 0), 0)
    await thread.terminate()
  })

  test('is taken after a timeout from a thread that was terminated', async () => {
    const { lock, thread } = await lockInThread('for (;;);')
    await thread.terminate()
    assert.equal(
      withLock(lock, () => 'ran', 1),
      'ran',
    )
    assert.equal(Atomics.load(lock, 0), 0)
  })

  test('is not released by a thread from which it was taken', async () => {
    const { lock, signal, thread } = await lockInThread(
      'Atomics.wait(signal, 0, 0)',
      'Atomics.store(signal, 0, 2); Atomics.notify(signal, 0)',
    )
    const resumeThread = () => {
      Atomics.store(signal, 0, 1)
      Atomics.notify(signal, 0)
      Atomics.wait(signal, 0, 1)
      return Atomics.load(lock, 0)
    }
    assert.notEqual(withLock(lock, resumeThread, 1), 0)
    assert.equal(Atomics.load(lock, 0), 0)
    await thread.terminate()
  })
})
