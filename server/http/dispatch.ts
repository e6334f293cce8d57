// What HTTP/1.1 serves besides the API: whether the process lives, whether it should get traffic, its figures.
import type { IncomingMessage, ServerResponse } from 'node:http'

export type PlainAnswer = { status: number; type: string; body: string }
export type PlainPaths = Record<string, () => PlainAnswer | Promise<PlainAnswer>>

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

export function dispatch(paths: PlainPaths, rest: Handle): Handle {
  const plain = new Map(Object.entries(paths))
  return (request, response) => {
    const answer = plain.get((request.url ?? '').split('?', 1)[0] ?? '')
    if (!answer || (request.method !== 'GET' && request.method !== 'HEAD')) return rest(request, response)
    return send(answer, request, response)
  }
}

async function send(
  answer: () => PlainAnswer | Promise<PlainAnswer>,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { status, type, body } = await answer()
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
