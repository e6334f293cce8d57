// Sends HTTP/2 headers of 60 KB: as literal text, or compressed to references to one field in the HPACK table.
import {
  callBlock,
  headers,
  preface,
  references,
  settings,
  storedField,
} from '../../../server/testing/http2-frames.ts'
import type { Attack } from './attack.ts'
import { written } from './sockets.ts'

const maxBlocks = 200
const listGroups = '/platform.iam.v2beta1.GroupsService/ListGroups'

const literalBlock = () => callBlock(listGroups, ['x-long', 'a'.repeat(60_000)])

const referringBlock = (at: number) =>
  Buffer.concat([
    callBlock(listGroups),
    at === 0 ? storedField('x-long', 'a'.repeat(3000)) : Buffer.of(),
    references(20),
  ])

const attackWith = (blockAt: (at: number) => Buffer): Attack => ({
  parallel: 4,
  async round(target) {
    const socket = await target.open()
    socket.resume()
    await written(socket, Buffer.concat([preface, settings]))
    for (let at = 0; at < maxBlocks && !socket.closed; at++) {
      await target.take(1)
      await written(socket, headers(2 * at + 1, blockAt(at)))
    }
    socket.destroy()
  },
})

export const largeHeaders = attackWith(literalBlock)
export const hpackBomb = attackWith(referringBlock)
