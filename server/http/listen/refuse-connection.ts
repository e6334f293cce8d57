// Refuses connections beyond the limits of connection-counter.ts, with an error that the client can read.
import type { Socket } from 'node:net'
import { constant, unavailable } from '../../aip/errors.ts'
import type { RawErrorOptions } from './raw-error.ts'
import { sendRawError } from './raw-error.ts'

/** How many refused connections may stay open until their clients have read the error. Further ones are reset. */
const maxLingering = 100

const tooManyConnections = constant(
  unavailable('too many connections are open; close some, or try again later'),
)

/** If `isTls`, connections are reset: a client that waits for a TLS handshake could not read the error. */
export function openRefusals(options: RawErrorOptions, isTls: boolean): (socket: Socket) => void {
  let lingering = 0
  return (socket) => {
    socket.on('error', () => socket.destroy())
    if (isTls || lingering >= maxLingering) {
      options.onRejected(options.requestIds.next(), tooManyConnections, socket.remoteAddress ?? '')
      socket.resetAndDestroy()
      return
    }
    lingering++
    socket.once('close', () => lingering--)
    sendRawError(socket, tooManyConnections, options)
  }
}
