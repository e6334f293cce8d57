import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { create, toBinary } from '@bufbuild/protobuf'
import { GetGroupRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { callBlock, headers, preface, reset, settings } from '../../testing/http2-frames.ts'
import { openTestDoor } from '../../testing/test-door.ts'

describe('the guard of HTTP/2 sessions', () => {
  const closers: (() => void)[] = []
  afterEach(() => {
    for (const close of closers.splice(0).reverse()) close()
  })

  test('the address of a connection that resets its calls is slowed down, and other addresses are not', async () => {
    const door = await openTestDoor({ timeoutsMs: { penaltyPause: 3_600_000 } })
    closers.push(() => door.close())
    const open = async (localAddress: string): Promise<Socket> => {
      const socket = connect({ port: door.port, host: '127.0.0.1', localAddress })
      socket.on('error', () => {})
      closers.push(() => socket.destroy())
      await once(socket, 'connect')
      socket.write(Buffer.concat([preface, settings]))
      return socket
    }
    const abusive = await open('127.0.0.2')
    const block = callBlock('/platform.iam.v2beta1.GroupsService/GetGroup')
    const streams = Array.from({ length: 1000 }, (_, at) => 2 * at + 1)
    abusive.write(
      Buffer.concat(streams.flatMap((id) => [headers(id, block), reset(id, constants.NGHTTP2_CANCEL)])),
    )
    abusive.resume()
    await new Promise((resolve) => abusive.once('close', resolve))
    const slowed = await open('127.0.0.2')
    slowed.resume()
    await once(await open('127.0.0.3'), 'data')
    assert.equal(slowed.bytesRead, 0)
  })

  test('a connection whose calls are cancelled after a while stays open', async () => {
    let time = Date.now()
    const cancelledCount = 300
    let running = 0
    const door = await openTestDoor({
      now: () => time,
      act: () => {
        running++
        return new Promise(() => {})
      },
    })
    closers.push(() => door.close())
    const session = connectHttp2(`http://127.0.0.1:${door.port}`)
    closers.push(() => session.destroy())
    const path = '/platform.iam.v2beta1.GroupsService/GetGroup'
    const message = toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: 'x' }))
    for (let at = 0; at < cancelledCount; at++) {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': path, te: 'trailers' },
        'content-type': 'application/grpc',
      })
      stream.on('error', () => {})
      stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]))
      while (running <= at && !session.closed) await new Promise((resolve) => setImmediate(resolve))
      assert.ok(!session.closed, `closed after ${at} calls`)
      time += 2000
      stream.close(constants.NGHTTP2_CANCEL)
      await once(stream, 'close')
    }
  })
})
