import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { create } from '@bufbuild/protobuf'
import { GetGroupRequestSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'
import { openLane } from './lane.ts'

const method = describeMethod(GroupsService.method.getGroup)
const request = create(GetGroupRequestSchema, { uid: 'a/b' })
const envelope: Envelope = {
  ...{ requestId: 'r', authorization: 'Bearer x', address: '127.0.0.1', timeout: 60_000 },
  ...{ door: 'rest', ifMatch: undefined, idempotencyKey: undefined, userAgent: undefined },
}

const answerCalls = `
  const { parentPort } = require('node:worker_threads')
  parentPort.on('message', ({ id }) =>
    parentPort.postMessage({ kind: 'reply', id, reply: { json: { text: '{}', size: 2 } } }))`

test('a call that comes while the idle thread ends gets a new thread', async () => {
  const { promise: repliedMeanwhile, resolve } = Promise.withResolvers<Reply>()
  let threads = 0
  const call = () => lane.call(method, { identity: 'a/c', issuedAt: 7 }, envelope, request)
  const lane = openLane({
    ...{ now: Date.now, idleMs: 1 },
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
