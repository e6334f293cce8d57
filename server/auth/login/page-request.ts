// A request of a browser for one of our pages, and the response to it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { malformed, tooLarge } from '../../aip/errors.ts'
import type { Page } from '../../pages/frame.ts'
import { contentSecurityPolicy, renderPage } from '../../pages/frame.ts'
import { endAfterRequest } from '../../wire/end-after-request.ts'

export type PageRequest = {
  request: IncomingMessage
  response: ServerResponse
  method: string
  /** The path of the auth URL, without a slash at its end. */
  prefix: string
  /** The path below the auth URL. */
  path: string
  query: URLSearchParams
  /** The IP address of the client. */
  address: string
  /** Reads the fields of the form that was sent. */
  form(): Promise<URLSearchParams>
}

export type PageResponse = { headers?: Record<string, string> } & (
  | { page: Page; status?: number }
  | { location: string }
  | { json: unknown; status?: number }
  | { script: string; status?: number }
)

/** The path of a request below the auth URL, its query, and the IP address of its client. */
export type Target = { path: string; query: string; address: string }

const maxFormBytes = 16 * 1024

export function pageRequestOf(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query, address }: Target,
  prefix: string,
): PageRequest {
  return {
    ...{ request, response, method: request.method ?? 'GET', prefix, path, address },
    query: new URLSearchParams(query),
    form: () => readForm(request),
  }
}

export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const [type] = (request.headers['content-type'] ?? '').split(';', 1)
  if (type?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw malformed('a form must be sent as application/x-www-form-urlencoded', 415)
  const chunks: Buffer[] = []
  let size = 0
  // The request is not destroyed when reading stops early, so that the error can still be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > maxFormBytes) throw tooLarge(`a form must be at most ${maxFormBytes} bytes`, 413)
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

function contentOf(
  answer: Exclude<PageResponse, { location: string }>,
  prefix: string,
): [type: string, text: string] {
  if ('json' in answer) return ['application/json', JSON.stringify(answer.json)]
  if ('script' in answer) return ['text/javascript; charset=utf-8', answer.script]
  return ['text/html; charset=utf-8', renderPage(answer.page, prefix)]
}

export function sendResponse({ request, response, method, prefix }: PageRequest, answer: PageResponse): void {
  if (response.destroyed || response.writableEnded) return
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value)
  if ('location' in answer) {
    response.writeHead(303, { location: answer.location, 'content-length': 0 }).end()
    return
  }
  const [type, text] = contentOf(answer, prefix)
  response.setHeader('content-security-policy', contentSecurityPolicy)
  const isArriving = answer.status === 413 && !request.complete
  if (isArriving) response.setHeader('connection', 'close')
  response.writeHead(answer.status ?? 200, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
  })
  if (isArriving) endAfterRequest(request, response, text)
  else response.end(method === 'HEAD' ? undefined : text)
}
