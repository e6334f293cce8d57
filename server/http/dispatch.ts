// What HTTP/1.1 serves besides the API: whether the process lives, whether it should get traffic, its figures.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { requestIdOf } from './door.ts'
import { isTls, safeHeaders } from './headers.ts'
import { splitTarget } from './target.ts'

/** `cacheFor` is in seconds; what says nothing of it is kept by nobody. */
export type PlainAnswer = { status: number; type: string; body: string; cacheFor?: number }
type Answer = () => PlainAnswer | Promise<PlainAnswer>
export type PlainPaths = Record<string, Answer>

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

export function dispatch(paths: PlainPaths, rest: Handle): Handle {
  const plain = new Map(Object.entries(paths))
  return (request, response) => {
    const answer = plain.get(splitTarget(request.url ?? '').path)
    return answer ? answerPlainly(answer, request, response) : rest(request, response)
  }
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
  const { status, type, body, cacheFor } = isAsked ? await attempt(answer) : text(405, 'method not allowed\n')
  if (response.destroyed) return
  response.writeHead(status, [
    ...safeHeaders(isTls(request.socket), cacheFor),
    ...['x-request-id', requestIdOf(request.headers['x-request-id'])],
    ...['content-type', type, 'content-length', String(Buffer.byteLength(body))],
    ...(isAsked ? [] : ['allow', 'GET, HEAD']),
  ])
  response.end(request.method === 'HEAD' ? undefined : body)
}
