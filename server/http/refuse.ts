// Answers what node:http cannot make a request of, in the form of every other error.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Code } from '../aip/code.ts'
import { malformed, StatusError, tooLarge } from '../aip/errors.ts'
import type { OnStray } from './door.ts'
import { isTls, safeHeaders } from './headers.ts'
import { errorBody } from './rest/error-body.ts'

export type RefuserOptions = {
  errorDomain: string
  /** How long a refused client may go on sending before it is cut off, so that it can read the answer. */
  linger: number
  onStray: OnStray
}

export type Refuser = {
  /** Must hear of every request, so that no refusal passes for the answer to an earlier one. */
  onRequest(request: IncomingMessage, response: ServerResponse): void
  onClientError(error: ParseError, socket: Duplex): void
  onConnect(request: IncomingMessage, socket: Duplex): void
}

type ParseError = NodeJS.ErrnoException & { rawPacket?: Buffer }

export function openRefuser({ errorDomain, linger, onStray }: RefuserOptions): Refuser {
  const latest = new WeakMap<Duplex, ServerResponse>()
  const refused = new WeakSet<Duplex>()

  function refuse(socket: Duplex, error: StatusError): void {
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const requestId = randomUUID()
    onStray(requestId, error)
    const body = errorBody(error, errorDomain, false)
    const headers = [
      ...safeHeaders(isTls(socket)),
      ...['content-type', 'application/json', 'x-request-id', requestId],
      ...['connection', 'close', 'content-length', String(Buffer.byteLength(body))],
    ]
    const lines = headers.map((word, at) => (at % 2 === 0 ? `${word}: ` : `${word}\r\n`))
    socket.end(`HTTP/1.1 ${error.http} ${STATUS_CODES[error.http]}\r\n${lines.join('')}\r\n${body}`)
    // Ended at once, what the client still sends would reset the connection before it has read this.
    socket.resume()
    const timer = setTimeout(() => socket.destroy(), linger)
    socket.once('close', () => clearTimeout(timer))
  }

  return {
    onRequest(request, response) {
      latest.set(request.socket, response)
    },
    onClientError(error, socket) {
      // A broken parser complains again of every byte that follows.
      if (refused.has(socket)) return
      refused.add(socket)
      if (error.code === 'ECONNRESET') {
        socket.destroy()
        return
      }
      const pending = latest.get(socket)
      const answer = () => refuse(socket, faultOf(error))
      if (!pending || pending.writableFinished) answer()
      else if (pending.req.complete) pending.once('close', answer)
      else if (pending.headersSent) socket.destroy()
      else answer()
    },
    onConnect: (_, socket) =>
      refuse(socket, new StatusError(Code.UNIMPLEMENTED, 'this server is no proxy', { http: 501 })),
  }
}

function faultOf({ code, rawPacket }: ParseError): StatusError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return isLongUrl(rawPacket)
        ? tooLarge('the URL is too long', 414)
        : tooLarge('the headers are too large', 431)
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return tooLarge('the chunk extensions are too large', 413)
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new StatusError(Code.DEADLINE_EXCEEDED, 'the request took too long to arrive', { http: 408 })
    default:
      return malformed('this is not well-formed HTTP')
  }
}

const isLongUrl = (packet: Buffer | undefined) =>
  packet !== undefined && /^[A-Z]+ \S{8192}/.test(packet.toString('latin1', 0, 9000))
