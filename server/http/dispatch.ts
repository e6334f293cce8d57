// Routes HTTP/1.1 requests: to plain paths (probes, metrics, keys, reference), to mounts (SCIM, sign-in), and all others
// to REST.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StatusError } from '../aip/errors.ts'
import { asStatusError } from '../aip/errors.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { recover } from '../wire/maybe-promise.ts'
import { forwardedFor } from './door.ts'
import { securityHeaders } from './headers.ts'
import type { PlainOptions, PlainPaths } from './plain-paths.ts'
import { sendPlain } from './plain-paths.ts'
import { contentEncodingFault, headFault } from './request-head.ts'
import { awaitsContinue, sendContinue } from './rest/body.ts'
import { splitTarget } from './target.ts'

/** Returns a promise if the request is not answered at once. */
export type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

/** A part of the server that has its own paths and writes its own responses. */
export type Mount = {
  isFor(path: string, request: IncomingMessage): boolean
  /** Whether it sends 100 Continue itself, for instance after it has authenticated the client. */
  sendsContinue?: boolean
  /** Whether it writes `MountTarget.headers` itself, which is faster than setting them one by one. */
  writesHeaders?: boolean
  handle(request: IncomingMessage, response: ServerResponse, target: MountTarget): MaybePromise<void>
  /** Loads what the first request would load. */
  load?(): Promise<unknown>
}

export type MountTarget = {
  path: string
  query: string
  address: string
  requestId: string
  /** The headers of every response: a flat list of names and values. */
  headers: readonly string[]
}

export type DispatchOptions = PlainOptions & {
  plainPaths: PlainPaths
  mounts: readonly Mount[]
  rest(request: IncomingMessage, response: ServerResponse, fault?: StatusError): unknown
}

export function dispatch(options: DispatchOptions): Handle {
  const { plainPaths, mounts, rest, addressOf, requestIds, isHttps, onRejected } = options
  const commonHeaders = securityHeaders(isHttps)
  const plain = new Map(Object.entries(plainPaths))
  const maxPlainLength = Math.max(...[...plain.keys()].map((path) => path.length))
  return (request, response) => {
    const fault = headFault(request)
    if (fault) return rest(request, response, fault)
    const target = splitTarget(request.url ?? '')
    // A lookup hashes the whole path, and the paths of most calls are longer than any plain path.
    const respond = target.path.length > maxPlainLength ? undefined : plain.get(target.path)
    if (respond) return sendPlain(() => respond(target.query), request, response, options)
    const mount = mounts.find(({ isFor }) => isFor(target.path, request))
    if (!mount) return rest(request, response)
    const encodingFault = contentEncodingFault(request)
    if (encodingFault) return rest(request, response, encodingFault)
    const requestId = requestIds.of(request.headers)
    const headers = [...commonHeaders, 'x-request-id', requestId]
    if (!mount.writesHeaders) setHeaders(response, headers)
    if (!mount.sendsContinue) continueIfAwaited(request, response)
    const address = addressOf(request.socket.remoteAddress, forwardedFor(request.headers))
    return recover(
      () => mount.handle(request, response, { ...target, address, requestId, headers }),
      (thrown) => {
        if (response.destroyed) return // the client has closed the connection
        const error = asStatusError(thrown)
        if (!response.headersSent) return void rest(request, response, error)
        onRejected(requestId, error, address)
        response.destroy()
      },
    )
  }
}

/** Sends 100 Continue to a client that waits for it. */
export function continueIfAwaited(request: IncomingMessage, response: ServerResponse): void {
  if (awaitsContinue(request)) sendContinue(request, response)
}

function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at] ?? '', headers[at + 1] ?? '')
}
