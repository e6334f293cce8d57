// What HTTP/1.1 serves besides the API: whether the process lives, whether it should get traffic, its figures,
// and what is mounted beside it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ClientAddress } from './client-address.ts'
import { forwardedFor, requestIdOf } from './door.ts'
import type { OwnWords } from './headers.ts'
import { isTls, safeHeaders } from './headers.ts'
import { invite, isHeldBack } from './rest/body.ts'
import { splitTarget } from './target.ts'

/** What says nothing of `cacheFor` is kept by nobody; with an `etag`, whoever has it already is told so. */
export type PlainAnswer = OwnWords & { status: number; type: string; body: string; etag?: string }
type Answer = () => PlainAnswer | Promise<PlainAnswer>
export type PlainPaths = Record<string, Answer>

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

/** A part of the server with paths of its own, which writes its answers itself. */
export type Mount = {
  isFor(path: string): boolean
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    target: { path: string; query: string; address: string },
  ): Promise<void>
}

export function dispatch(paths: PlainPaths, mount: Mount, rest: Handle, addressOf: ClientAddress): Handle {
  const plain = new Map(Object.entries(paths))
  const longest = Math.max(...[...plain.keys()].map((path) => path.length))
  return (request, response) => {
    const target = splitTarget(request.url ?? '')
    // The paths of most calls are longer, and looking them up would cost what their length does.
    const answer = target.path.length > longest ? undefined : plain.get(target.path)
    if (answer) return answerPlainly(answer, request, response)
    if (!mount.isFor(target.path)) return rest(request, response)
    prepare(request, response)
    const address = addressOf(request.socket.remoteAddress, forwardedFor(request.headers))
    return mount.handle(request, response, { ...target, address }).catch(() => response.destroy())
  }
}

/** Whatever a mounted part answers is as safe as everything else. */
function prepare(request: IncomingMessage, response: ServerResponse): void {
  const headers = safeHeaders(isTls(request.socket))
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at] ?? '', headers[at + 1] ?? '')
  response.setHeader('x-request-id', requestIdOf(request.headers))
  if (isHeldBack(request)) invite(request, response)
}

const text = (status: number, body: string): PlainAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
})

async function attempt(answer: Answer): Promise<PlainAnswer> {
  try {
    return await answer()
  } catch {
    return text(500, 'something went wrong on our side\n')
  }
}

async function answerPlainly(
  answer: Answer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isAsked = request.method === 'GET' || request.method === 'HEAD'
  const plain = isAsked ? await attempt(answer) : text(405, 'method not allowed\n')
  if (response.destroyed) return
  const { status, type, body, etag } = plain
  const isKnown = etag !== undefined && knows(request.headers['if-none-match'], etag)
  response.writeHead(isKnown ? 304 : status, [
    ...safeHeaders(isTls(request.socket), plain),
    ...['x-request-id', requestIdOf(request.headers)],
    ...(etag === undefined ? [] : ['etag', etag]),
    ...(isKnown ? [] : ['content-type', type, 'content-length', String(Buffer.byteLength(body))]),
    ...(isAsked ? [] : ['allow', 'GET, HEAD']),
  ])
  response.end(request.method === 'HEAD' || isKnown ? undefined : body)
}

/** RFC 9110 section 13.1.2: a list of tags, weak or not. */
const knows = (header: string | undefined, etag: string) =>
  header?.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag) ?? false
