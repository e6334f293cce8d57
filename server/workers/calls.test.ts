// Calls that one thread hands to another, through a real port.
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import type { MessagePort } from 'node:worker_threads'
import { MessageChannel } from 'node:worker_threads'
import { create } from '@bufbuild/protobuf'
import { GetGroupRequestSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import { internal, invalidField, notFound } from '../aip/errors.ts'
import type { Corridor, Envelope } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'
import { asJson } from '../wire/reply.ts'
import { openCallClient } from './call-client.ts'
import { serveCalls } from './call-server.ts'

describe('a call that is handed to another thread', () => {
  const method = describeMethod(GroupsService.method.getGroup)
  const request = create(GetGroupRequestSchema, { uid: 'a/b' })
  const caller = { identity: 'a/c', issuedAt: 7 }
  const envelope: Envelope = {
    ...{ requestId: 'r', authorization: 'Bearer x', address: '127.0.0.1', timeout: 1000 },
    ...{ door: 'rest', ifMatch: undefined, idempotencyKey: undefined, userAgent: undefined },
  }
  const ports: MessagePort[] = []
  afterEach(() => {
    for (const port of ports.splice(0)) port.close()
  })

  function connect(perform: Corridor<unknown>) {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1, port2)
    const handler = () => assert.fail('the corridor of this test does not call the handler')
    serveCalls(port1, {
      endpoints: [{ method, handler }],
      corridorFor: () => perform,
      streamCorridorFor: () => assert.fail('no stream'),
    })
    return { client: openCallClient(port2), port: port2 }
  }

  const failWith = (error: Error) =>
    connect(async () => {
      throw error
    })

  test('arrives whole, and returns the reply in the form of its door', async () => {
    const warnings = [{ field: 'name', description: 'is odd' }]
    const { client } = connect(async (_, received, readRequest): Promise<Reply> => {
      assert.deepEqual(received, envelope)
      assert.deepEqual(await readRequest(), request)
      const bytes = () => assert.fail('REST needs no bytes')
      return { json: () => asJson('{"ä":1}'), bytes, etag: '"e"', warnings }
    })
    const reply = await client.call(method, caller, envelope, request)
    assert.deepEqual(reply.json(), { text: '{"ä":1}', size: 8 })
    assert.deepEqual([reply.etag, reply.warnings], ['"e"', warnings])
  })

  test('fails with the same error as in one thread', async () => {
    for (const error of [notFound('platform.Group', 'a/b'), invalidField('uid', 'must be a uid')]) {
      const thrown = await failWith(error)
        .client.call(method, caller, envelope, request)
        .then(
          () => assert.fail('no error'),
          (reason: StatusError) => reason,
        )
      const { code, message, details, violations, http, headers } = thrown
      assert.deepEqual(
        { code, message, details, violations, http, headers },
        {
          ...{ code: error.code, message: error.message, details: error.details },
          ...{ violations: error.violations, http: error.http, headers: error.headers },
        },
      )
    }
  })

  test('passes the cause of an internal error on, for the log', async () => {
    const { client } = failWith(internal(new RangeError('out of range')))
    await assert.rejects(client.call(method, caller, envelope, request), (error: StatusError) => {
      assert.match((error.cause as Error).stack ?? '', /RangeError: out of range/)
      return error.code === 13
    })
  })

  test('returns a response in parts, each when it is asked for', async () => {
    let made = 0
    let isEnded = false
    const { client } = connect(async () => ({
      json: () => assert.fail('sent in parts'),
      bytes: () => assert.fail('sent in parts'),
      parts: () => ({
        wait: async () => {},
        next: async () => `part ${made++}`,
        end() {
          isEnded = true
        },
      }),
    }))
    const parts = (await client.call(method, caller, envelope, request)).parts?.()
    assert.equal(await parts?.next(), 'part 0')
    assert.equal(await parts?.next(), 'part 1')
    assert.equal(made, 2)
    parts?.end()
    await client.call(method, caller, envelope, request) // answered after the end of the first call was processed
    assert.ok(isEnded)
  })

  test('fails with UNAVAILABLE if the thread ends before it answers', async () => {
    const { client, port } = connect(() => new Promise(() => {}))
    port.on('close', client.close)
    const call = client.call(method, caller, envelope, request)
    ports[0]?.close()
    await assert.rejects(call, { code: 14 })
    await assert.rejects(client.call(method, caller, envelope, request), { code: 14 })
  })
})
