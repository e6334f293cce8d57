import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterEach, test } from 'node:test'
import { callBlock, headers, preface, reset, settings } from '../../testing/http2-frames.ts'
import { openTestDoor } from '../../testing/test-door.ts'

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
