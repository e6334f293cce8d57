import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { Server } from '@grpc/grpc-js'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { addReflection } from './reflection.ts'

type Handler = (call: Duplex) => void

/** The handlers of both versions. */
function handlers(): Handler[] {
  const added: Handler[] = []
  const addService = (_: unknown, { ServerReflectionInfo }: { ServerReflectionInfo: Handler }) =>
    void added.push(ServerReflectionInfo)
  addReflection({ addService } as unknown as Server, [GroupsService]) // it calls nothing else
  return added
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('reflection makes one reply, and the next when that one is read', async () => {
  const added = handlers()
  assert.equal(added.length, 2)
  for (const handler of added) {
    // A reply stays unread until the test calls its function. The queue has room for all replies.
    const unread: (() => void)[] = []
    const call = new Duplex({
      ...{ objectMode: true, highWaterMark: 1000 },
      read() {},
      write: (_reply, _encoding, onRead) => void unread.push(onRead),
    })
    handler(call)
    for (let times = 0; times < 100; times++)
      call.push({ messageRequest: 'listServices', listServices: '*', host: '' })
    call.push(null)
    for (let read = 0; read < 100; read++) {
      await settled()
      assert.equal(unread.length, read + 1)
      assert.equal(call.writableLength, 1)
      unread[read]?.()
    }
    await settled()
    assert.ok(call.writableEnded)
  }
})
