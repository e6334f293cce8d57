import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openLog } from '../log.ts'
import { startWorkers } from './supervisor.ts'

/** A worker that is ready at once, and evaluates `onStop` when it is told to stop, with the `kinds` of its messages. */
const program = (onStop: string) => `
  const { parentPort } = require('node:worker_threads')
  const kinds = []
  parentPort.postMessage({ kind: 'ready', port: 1 })
  parentPort.on('message', ({ kind }) => {
    kinds.push(kind)
    if (kind === 'stop') { ${onStop} }
  })`

/** Starts two workers with these programs. The first one is the writer. */
async function startTwo(writerOnStop: string, otherOnStop: string) {
  const workers: Worker[] = []
  const ended: string[] = []
  const { stop } = await startWorkers({
    ...{ count: 2, hasWriter: true, drainDelayMs: 50, log: openLog('silent') },
    startThread(index) {
      const worker = new Worker(program(index === 0 ? writerOnStop : otherOnStop), { eval: true })
      worker.on('exit', () => ended.push(index === 0 ? 'writer' : 'other'))
      workers.push(worker)
      return worker
    },
  })
  const [writer = assert.fail(), other = assert.fail()] = workers
  return { writer, other, ended, stop }
}

test('stops the writer last, even if another worker fails while it stops', async () => {
  const { ended, stop } = await startTwo('process.exit()', `throw new Error('cannot stop')`)
  await stop()
  assert.deepEqual(ended, ['other', 'writer'])
})

test('stops even if the writer ends before it is told to', async () => {
  const { writer, other, ended, stop } = await startTwo(
    '',
    `parentPort.postMessage({ kind: 'stopping' }); parentPort.once('message', () => process.exit())`,
  )
  const stopping = once(other, 'message')
  const stopped = stop()
  await stopping
  await writer.terminate()
  other.postMessage({ kind: 'exit' })
  await stopped
  assert.deepEqual(ended, ['writer', 'other'])
  await stop()
})

test('lets all workers drain before one of them stops, unless the stop is urgent', async () => {
  const tellKinds = `parentPort.postMessage({ kind: 'stopping', kinds }); process.exit()`
  for (const isUrgent of [false, true]) {
    const { writer, other, stop } = await startTwo(tellKinds, tellKinds)
    const told = [writer, other].map((worker) => once(worker, 'message'))
    await stop(isUrgent)
    for (const [{ kinds }] of await Promise.all(told))
      assert.deepEqual(
        kinds.filter((kind: string) => kind !== 'serve' && kind !== 'writer'),
        [...(isUrgent ? [] : ['start-draining']), 'stop'],
      )
  }
})
