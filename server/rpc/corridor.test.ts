import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../aip/code.ts'
import type { StatusError } from '../aip/errors.ts'
import { cancelled } from '../aip/errors.ts'
import { noLimits } from '../limits/rate/call-limits.ts'
import type { ParseGrants } from '../policy/grants.ts'
import { testEnvelope } from '../testing/envelope.ts'
import type { OtherThreads } from '../wire/other-thread.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import { openCorridor } from './corridor.ts'
import { openDeadlines } from './deadline.ts'
import { openUnsentBudget } from './unsent-budget.ts'

const caller = { identity: 'someone', issuedAt: 0 }
const method = describeMethod(GroupsService.method.listGroups)
const writeMethod = describeMethod(GroupsService.method.deleteGroup)
const maxBytes = 200_000

/** A corridor with a method that returns this reply. `hasRoomFor` tests the caller's budget of unsent bytes. */
async function openTestCorridor(reply: Reply, otherThreads?: OtherThreads, called = method) {
  const unsent = openUnsentBudget({ limits: { perCaller: maxBytes } })
  const reported: (StatusError | undefined)[] = []
  const corridor = openCorridor({
    authenticate: () => caller,
    report: (_method, _envelope, _caller, _milliseconds, error) => void reported.push(error),
    deadlines: openDeadlines(Date.now),
    parseGrants: (() => assert.fail('no grants are read')) as ParseGrants,
    now: Date.now,
    random: randomBytes,
    defaultLimits: new Map(),
    clock: () => 0,
    unsent,
    limits: noLimits,
    otherThreads,
  })
  let runCount = 0
  const handler = () => {
    runCount++
    return reply
  }
  const answer = async (envelope = testEnvelope) =>
    corridor({ method: called, handler }, envelope, () => create(called.desc.input))
  const hasRoomFor = (bytes: number) => {
    try {
      unsent.reserve({ identity: caller.identity, address: testEnvelope.address }, bytes)()
      return true
    } catch {
      return false
    }
  }
  return { answer, runs: () => runCount, reported, hasRoomFor }
}

const bytes = () => new Uint8Array()
const inParts = (parts: string[]): Reply => ({
  json: () => asJson(''),
  bytes,
  parts: () => ({ wait: async () => {}, next: async () => parts.shift(), end() {} }),
})

describe('a large reply', () => {
  test('counts as unsent until the door has sent it', async () => {
    const { answer, hasRoomFor } = await openTestCorridor({ json: () => asJson('x'.repeat(150_000)), bytes })
    const { onSent } = await answer()
    assert.ok(!hasRoomFor(60_000))
    await assert.rejects(answer, { code: Code.RESOURCE_EXHAUSTED })
    onSent?.()
    assert.ok(hasRoomFor(maxBytes))
  })

  test('to a write is sent even if it exceeds the limit, and the next write is refused before it runs', async () => {
    const large = { json: () => asJson('x'.repeat(150_000)), bytes }
    const { answer, runs, hasRoomFor } = await openTestCorridor(large, undefined, writeMethod)
    const sent = [await answer(), await answer()]
    await assert.rejects(answer, { code: Code.RESOURCE_EXHAUSTED })
    assert.equal(runs(), 2)
    for (const { onSent } of sent) onSent?.()
    assert.ok(hasRoomFor(maxBytes))
  })

  test('in parts counts only the current part as unsent, and is reported when it is complete', async () => {
    const { answer, reported, hasRoomFor } = await openTestCorridor(
      inParts(['x'.repeat(150_000), 'y'.repeat(150_000)]),
    )
    const parts = (await answer()).parts?.()
    assert.ok(parts)
    for (let part = 0; part < 2; part++) {
      await parts.next()
      assert.ok(!hasRoomFor(60_000))
      assert.deepEqual(reported, [])
    }
    await parts.next()
    assert.ok(hasRoomFor(maxBytes))
    assert.deepEqual(reported, [undefined])
  })

  test('in parts is reported as cancelled if its client disconnects', async () => {
    const { answer, reported, hasRoomFor } = await openTestCorridor(inParts(['x'.repeat(150_000), 'y']))
    const parts = (await answer()).parts?.()
    await parts?.next()
    parts?.end(cancelled())
    assert.deepEqual(
      reported.map((error) => error?.code),
      [Code.CANCELLED],
    )
    assert.ok(hasRoomFor(maxBytes))
  })

  test('in parts is ended if another thread makes it after the deadline', async () => {
    const { promise: reply, resolve } = Promise.withResolvers<Reply>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { answer } = await openTestCorridor(inParts([]), { forMethod: () => () => reply, lane: undefined })
    await assert.rejects(answer({ ...testEnvelope, timeout: 1 }), { code: Code.DEADLINE_EXCEEDED })
    const unread = ['x', 'y']
    resolve({
      ...inParts([]),
      parts: () => ({ wait: async () => {}, next: async () => unread.shift(), end: () => end() }),
    })
    await ended
    assert.deepEqual(unread, ['y'], 'parts can be ended only after the first one is read')
  })
})
