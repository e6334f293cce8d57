// The HTTP/1.1 server. It gets its connections from listen.ts and never listens itself.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { DoorOptions } from '../door.ts'
import type { Limits } from './limits.ts'
import { maxHeaderBytes, maxUrlBytes } from './limits.ts'
import { openParseErrors } from './parse-errors.ts'

export type Http1Options = Omit<DoorOptions, 'addressOf'> & {
  onRequest(request: IncomingMessage, response: ServerResponse): void
  limits: Limits
}

export function openHttp1(options: Http1Options): Server {
  const { limits, onRequest } = options
  const server = createServer({
    // node:http counts the URL as headers. The door limits each of them by itself.
    maxHeaderSize: maxHeaderBytes + maxUrlBytes,
    headersTimeout: limits.headers,
    requestTimeout: limits.request,
    keepAliveTimeout: limits.keepAlive,
    connectionsCheckingInterval: limits.checkInterval,
    requireHostHeader: false, // answered by the door, with an error in our form
    optimizeEmptyRequests: true,
  })
  const parseErrors = openParseErrors({ ...options, lingerMs: limits.linger })
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    parseErrors.onRequest(request, response)
    onRequest(request, response)
  }
  server.timeout = limits.idle
  // By default, headers after the 2000th are silently dropped. Their size is limited.
  server.maxHeadersCount = 0
  server.on('request', handle)
  // The code that reads the body sends 100 Continue, so a rejected request gets none.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)
  server.on('clientError', parseErrors.onClientError)
  server.on('connect', parseErrors.onConnect)
  // An option of node:http that its types lack: a client that has closed its side still gets its response.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Starts the interval that enforces the timeouts, which otherwise starts with listen().
  server.emit('listening')
  return server
}
