// Writes answers and errors in the form of the registry protocol.
import type { IncomingMessage } from 'node:http'
import { Code } from '../aip/code.ts'
import type { StatusError } from '../aip/errors.ts'
import { asStatusError, isQuotaExceeded, retryHeaders, textOf } from '../aip/errors.ts'
import type { RegistryCode } from '../aip/registry-error.ts'
import { registryCodeOf } from '../aip/registry-error.ts'
import { BlobError } from '../blobs/blob-error.ts'
import { endAfterRequest } from '../wire/end-after-request.ts'
import { blobFailure } from './blob-failure.ts'
import type { Exchange, RegistryResponse } from './door-context.ts'
import { denied } from './names.ts'

const maxTextBytes = 16 * 1024

export function send(
  { request, response, headers: common }: Pick<Exchange, 'request' | 'response' | 'headers'>,
  answer: RegistryResponse,
): void {
  if (response.headersSent || response.destroyed) return
  const { status, headers = {} } = answer
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body
  const { size = body?.length ?? 0 } = answer
  const head = headersOf(common, headers)
  if (status !== 204) head.push('content-length', String(size))
  const content = request.method === 'HEAD' ? undefined : body
  if (request.complete || !hasBody(request)) {
    response.writeHead(status, head)
    // Node.js writes a short text together with the head, and a buffer separately. As latin1, the bytes stay the same.
    if (content && content.length <= maxTextBytes)
      response.end(
        Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1'),
        'latin1',
      )
    else response.end(content)
    return
  }
  response.writeHead(status, [...head, 'connection', 'close'])
  endAfterRequest(request, response, content ?? '')
}

/**
 * A flat list, which node:http writes fastest. `cache-control` of `own` replaces that of `common`. No other header is in
 * both.
 */
export function headersOf(
  common: readonly string[],
  own: NonNullable<RegistryResponse['headers']>,
): string[] {
  const list = [...common]
  for (const [name, value] of Object.entries(own)) {
    if (name === 'cache-control') list[list.indexOf(name) + 1] = String(value)
    else if (typeof value === 'string') list.push(name, value)
    else for (const each of value) list.push(name, each)
  }
  return list
}

export const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** `challenge` is the `WWW-Authenticate` header for a client that is not authenticated. */
export function errorAnswer(
  thrown: unknown,
  name: string,
  challenge: (error: StatusError) => string,
): RegistryResponse {
  const error = asStatusError(thrown instanceof BlobError ? blobFailure(thrown) : thrown)
  const isPlainDenial = error.code === Code.PERMISSION_DENIED && registryCodeOf(error) === undefined
  const shown = isPlainDenial ? denied(name) : error
  // Not 429: clients would try again and again.
  const isFull = isQuotaExceeded(shown)
  const code = isFull ? 'DENIED' : (registryCodeOf(shown) ?? codes[shown.code] ?? 'UNKNOWN')
  const body = Buffer.from(JSON.stringify({ errors: [{ code, message: textOf(shown) }] }))
  return {
    ...{ status: isFull ? 403 : isRefusal(shown) ? 412 : shown.http, body },
    headers: {
      'content-type': 'application/json',
      ...shown.headers,
      ...retryHeaders(error),
      ...(shown.code === Code.UNAUTHENTICATED && { 'www-authenticate': challenge(shown) }),
    },
  }
}

/**
 * Whether the rules of the repo forbid the request, such as moving an immutable tag. Harbor also
 * answers 412. Clients then neither repeat the request nor report a lack of access; a client that
 * does not show the message shows at least the status.
 */
const isRefusal = (error: StatusError) =>
  error.code === Code.FAILED_PRECONDITION && registryCodeOf(error) === undefined

const codes: { readonly [code: number]: RegistryCode } = {
  [Code.UNAUTHENTICATED]: 'UNAUTHORIZED',
  [Code.PERMISSION_DENIED]: 'DENIED',
  [Code.FAILED_PRECONDITION]: 'DENIED',
  [Code.RESOURCE_EXHAUSTED]: 'TOOMANYREQUESTS',
  [Code.NOT_FOUND]: 'NAME_UNKNOWN',
  [Code.UNIMPLEMENTED]: 'UNSUPPORTED',
  [Code.UNAVAILABLE]: 'UNAVAILABLE',
}
