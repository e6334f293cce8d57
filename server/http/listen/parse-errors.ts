// Answers input that node:http cannot parse as a request, in the same form as all other errors.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Code } from '../../aip/code.ts'
import { constant, malformed, StatusError, tooLarge } from '../../aip/errors.ts'
import type { ConnectionState } from './connection-state.ts'
import { maxUrlBytes } from './limits.ts'
import { hasLongBody } from './long-bodies.ts'
import type { RawErrorOptions } from './raw-error.ts'
import { sendRawError } from './raw-error.ts'

export type ParseErrorOptions = RawErrorOptions & {
  stateOf(socket: Duplex): ConnectionState
}

export type ParseErrors = {
  onClientError(error: ParseError, socket: Duplex): void
  /** Called for the method CONNECT, with which clients ask a proxy for a tunnel. */
  onConnect(request: IncomingMessage, socket: Duplex): void
}

type ParseError = NodeJS.ErrnoException & { rawPacket?: Buffer }

export function openParseErrors(options: ParseErrorOptions): ParseErrors {
  return {
    onClientError(error, socket) {
      // node:http reports this timeout once per request, and then goes on reading the request.
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && hasLongBody(socket)) return
      const state = options.stateOf(socket)
      // After its first error, the parser reports another one for everything that follows.
      if (state.isStopped) return
      state.isStopped = true
      if (error.code === 'ECONNRESET') {
        socket.destroy()
        return
      }
      // The error must not be taken for the response to an earlier request.
      const pending = state.latestResponse
      const answer = () => sendRawError(socket, statusErrorOf(error), options)
      if (!pending || pending.writableFinished) answer()
      else if (pending.req.complete) pending.once('close', answer)
      else if (pending.headersSent) socket.destroy()
      else answer()
    },
    onConnect(_, socket) {
      options.stateOf(socket).isStopped = true
      sendRawError(socket, notProxy, options)
    },
  }
}

const notProxy = constant(new StatusError(Code.UNIMPLEMENTED, 'this server is not a proxy', { http: 501 }))
const tooLongUrl = constant(tooLarge('the URL is too long', 414))
const largeHeaders = constant(tooLarge('the headers are too large', 431))
const largeExtensions = constant(tooLarge('the chunk extensions are too large', 413))
const tooSlow = constant(
  new StatusError(Code.DEADLINE_EXCEEDED, 'the request took too long to arrive', { http: 408 }),
)
const notHttp = constant(malformed('this is not well-formed HTTP'))

function statusErrorOf({ code, rawPacket }: ParseError): StatusError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return isLongUrl(rawPacket) ? tooLongUrl : largeHeaders
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return largeExtensions
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return tooSlow
    default:
      return notHttp
  }
}

const longUrl = new RegExp(`^[A-Z-]+ \\S{${maxUrlBytes + 1}}`)

/** Whether the URL is over its limit; otherwise the headers are too large. */
const isLongUrl = (packet: Buffer | undefined) =>
  packet !== undefined && longUrl.test(packet.toString('latin1', 0, maxUrlBytes + 100))
