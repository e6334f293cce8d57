// Answers a connection on which no request is handled, because it is refused or sends malformed
// HTTP: sends an error in the same form as all other errors, and closes the connection.
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { StatusError } from '../../aip/errors.ts'
import type { DoorOptions } from '../door.ts'
import { securityHeaders } from '../headers.ts'
import { STATUS_CODES } from '../node-http.ts'
import { errorBody } from '../rest/error-body.ts'

export type RawErrorOptions = Omit<DoorOptions, 'addressOf'> & {
  /** A client that is still sending is disconnected this long after the error was sent. */
  lingerMs: number
}

export function sendRawError(
  socket: Duplex,
  error: StatusError,
  { errorDomain, requestIds, onRejected, lingerMs, isHttps }: RawErrorOptions,
): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const requestId = requestIds.next()
  onRejected(requestId, error, addressOf(socket))
  const body = errorBody(error, errorDomain)
  const headers = [
    ...securityHeaders(isHttps),
    ...['content-type', 'application/json', 'x-request-id', requestId],
    ...Object.entries(error.headers).flat(),
    ...['connection', 'close', 'content-length', String(Buffer.byteLength(body))],
  ]
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  socket.end(`HTTP/1.1 ${error.http} ${STATUS_CODES[error.http]}\r\n${lines.join('')}\r\n${body}`)
  // If the socket were closed now, data that is still arriving would reset the connection before the error is read.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

/** There are no headers, so an address that a proxy forwards is not known. */
const addressOf = (socket: Duplex) => (socket as Socket).remoteAddress ?? ''
