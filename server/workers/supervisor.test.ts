import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openLog } from '../log.ts'
import { startWorkers } from './supervisor.ts'

/** A worker that is ready at once, and evaluates `onStop` when it is told to stop. */
const program = (onStop: string) => `
  const { parentPort } = require('node:worker_threads')
  parentPort.postMessage({ kind: 'ready', port: 1 })
  parentPort.on('message', ({ kind }) => {
    if (kind === 'stop') { ${onStop} }
  })`

/** Starts two workers with these programs. The first one is the writer. */
async function startTwo(writerOnStop: string, otherOnStop: string) {
  const workers: Worker[] = []
  const ended: string[] = []
  const { stop } = await startWorkers({
    ...{ count: 2, hasWriter: true, log: openLog('silent') },
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
