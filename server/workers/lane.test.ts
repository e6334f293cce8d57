import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { create } from '@bufbuild/protobuf'
import { GetGroupRequestSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../aip/code.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'
import { openLane } from './lane.ts'

const method = describeMethod(GroupsService.method.getGroup)
const request = create(GetGroupRequestSchema, { uid: 'a/b' })
const envelope: Envelope = {
  ...{ requestId: 'r', authorization: 'Bearer x', address: '127.0.0.1', timeout: 60_000 },
  ...{ door: 'rest', ifMatch: undefined, idempotencyKey: undefined, userAgent: undefined },
}

/** Answers every call, except those whose request id is `slow`. Streams do not end. */
const answerCalls = `
  const { parentPort } = require('node:worker_threads')
  const reply = { json: { text: '{}', size: 2 } }
  parentPort.on('message', ({ kind, id, call }) => {
    if (kind === 'next') parentPort.postMessage({ kind: 'streamed', id, reply })
    if (kind === 'call' && call.envelope.requestId !== 'slow')
      parentPort.postMessage({ kind: 'reply', id, reply })
  })`
const caller = { identity: 'a/c', issuedAt: 7 }
const slow = { ...envelope, requestId: 'slow', timeout: 10 }
const maxRunMs = 1000

test('a call that comes while the idle thread ends gets a new thread', async () => {
  const { promise: repliedMeanwhile, resolve } = Promise.withResolvers<Reply>()
  let threads = 0
  const call = () => lane.call(method, caller, envelope, request)
  const lane = openLane({
    ...{ now: Date.now, maxRunning: 1, idleMs: 1 },
    startThread() {
      const worker = new Worker(answerCalls, { eval: true })
      const terminate = worker.terminate.bind(worker)
      if (++threads === 1)
        worker.terminate = () => {
          const ended = terminate()
          resolve(call())
          return ended
        }
      return worker
    },
  })
  await call()
  const held = setTimeout(() => {}, 2 ** 30) // the timer of the lane does not keep the process alive
  assert.deepEqual((await repliedMeanwhile).json(), { text: '{}', size: 2 })
  clearTimeout(held)
  assert.equal(threads, 2)
  await lane.close()
})

/** A lane on a mocked clock. `posted` resolves when the next call is handed to a thread. */
function openTestLane({ mock }: TestContext) {
  mock.timers.enable({ apis: ['setTimeout'] })
  const workers: Worker[] = []
  let onPost = () => {}
  const lane = openLane({
    ...{ now: () => 0, maxRunning: 1, maxRunMs },
    startThread() {
      const worker = new Worker(answerCalls, { eval: true })
      const post = worker.postMessage.bind(worker)
      worker.postMessage = (message) => {
        post(message)
        onPost()
      }
      workers.push(worker)
      return worker
    },
  })
  const call = (sent: Envelope) => lane.call(method, caller, sent, request)
  const callSlowly = async () => {
    const posted = new Promise<void>((resolve) => {
      onPost = resolve
    })
    const answered = call(slow)
    await posted
    return { answered }
  }
  return { lane, workers, call, callSlowly, pass: (milliseconds: number) => mock.timers.tick(milliseconds) }
}

test('a call past its deadline ends the streams of other callers only when it reaches maxRunMs', async (t) => {
  const { lane, workers, callSlowly, pass } = openTestLane(t)
  const stream = lane.stream(method, { identity: 'a/d', issuedAt: 7 }, envelope, request)
  await stream.next()
  const { answered } = await callSlowly()
  pass(maxRunMs - 1)
  for (let replies = 0; replies < 10; replies++) assert.equal((await stream.next()).done, false)
  assert.equal(workers.length, 1)
  pass(1)
  await assert.rejects(answered, { code: Code.DEADLINE_EXCEEDED })
  await assert.rejects(stream.next(), { code: Code.UNAVAILABLE })
  await lane.close()
})

test('a call that comes while the thread of a late call ends gets a new thread', async (t) => {
  const { lane, workers, call, callSlowly, pass } = openTestLane(t)
  const { answered } = await callSlowly()
  const next = call(envelope)
  const [worker = assert.fail()] = workers
  const terminate = worker.terminate.bind(worker)
  worker.terminate = () => {
    // The answer was already on its way.
    worker.emit('message', { kind: 'reply', id: 1, reply: { json: { text: '{}', size: 2 } } })
    return terminate()
  }
  pass(maxRunMs)
  await assert.rejects(answered, { code: Code.DEADLINE_EXCEEDED })
  assert.deepEqual((await next).json(), { text: '{}', size: 2 })
  assert.equal(workers.length, 2)
  await lane.close()
})
