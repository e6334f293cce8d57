import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { Server } from '@grpc/grpc-js'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { addReflection } from './reflection.ts'

type Handler = (call: Duplex) => void

/** The handlers of both versions of the reflection service, v1 and v1alpha. */
function reflectionHandlers(): Handler[] {
  const handlers: Handler[] = []
  const addService = (_: unknown, { ServerReflectionInfo }: { ServerReflectionInfo: Handler }) =>
    void handlers.push(ServerReflectionInfo)
  addReflection({ addService } as unknown as Server, [GroupsService]) // addReflection calls nothing else
  return handlers
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('reflection makes each reply only after the client has read the one before', async () => {
  const handlers = reflectionHandlers()
  assert.equal(handlers.length, 2)
  for (const handler of handlers) {
    // One function for each reply that was written. The test calls it to read the reply. The stream has room for all
    // replies, so only reflection itself can delay them.
    const readReply: (() => void)[] = []
    const call = new Duplex({
      ...{ objectMode: true, highWaterMark: 1000 },
      read() {},
      write: (_reply, _encoding, onRead) => void readReply.push(onRead),
    })
    handler(call)
    for (let times = 0; times < 100; times++)
      call.push({ messageRequest: 'listServices', listServices: '*', host: '' })
    call.push(null)
    for (let read = 0; read < 100; read++) {
      await settled()
      assert.equal(readReply.length, read + 1)
      assert.equal(call.writableLength, 1)
      readReply[read]?.()
    }
    await settled()
    assert.ok(call.writableEnded)
  }
})
