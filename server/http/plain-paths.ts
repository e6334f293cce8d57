// Paths outside the contract that answer GET with text.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DoorOptions } from './door.ts'
import type { HeaderOverrides } from './headers.ts'
import { securityHeaders } from './headers.ts'

/** Not cached unless `cacheFor` is set. With an `etag`, conditional requests are answered with 304. */
export type PlainResponse = HeaderOverrides & {
  status: number
  type: string
  /** Large bodies are bytes, which all responses share: a string would be copied for each client that is slow to read. */
  body: string | Uint8Array
  etag?: string
}
export type MakeResponse = () => PlainResponse | Promise<PlainResponse>
export type PlainPaths = Record<string, MakeResponse>

export const textResponse = (status: number, body: string): PlainResponse => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
})

export async function sendPlain(
  makeResponse: MakeResponse,
  request: IncomingMessage,
  response: ServerResponse,
  { requestIds, isHttps }: Pick<DoorOptions, 'requestIds' | 'isHttps'>,
): Promise<void> {
  const isAllowed = request.method === 'GET' || request.method === 'HEAD'
  const plain = isAllowed ? await makeOrFail(makeResponse) : textResponse(405, 'method not allowed\n')
  if (response.destroyed) return
  const { status, type, body, etag } = plain
  const isUnchanged = etag !== undefined && matchesTag(request.headers['if-none-match'], etag)
  response.writeHead(isUnchanged ? 304 : status, [
    ...securityHeaders(isHttps, plain),
    ...['x-request-id', requestIds.of(request.headers)],
    ...(etag === undefined ? [] : ['etag', etag]),
    ...(isUnchanged ? [] : ['content-type', type, 'content-length', String(Buffer.byteLength(body))]),
    ...(isAllowed ? [] : ['allow', 'GET, HEAD']),
  ])
  response.end(request.method === 'HEAD' || isUnchanged ? undefined : body)
}

async function makeOrFail(makeResponse: MakeResponse): Promise<PlainResponse> {
  try {
    return await makeResponse()
  } catch {
    return textResponse(500, 'something went wrong on our side\n')
  }
}

/** If-None-Match is a list of tags, weak or strong (RFC 9110 section 13.1.2). */
const matchesTag = (header: string | undefined, etag: string) =>
  header?.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) ?? false
