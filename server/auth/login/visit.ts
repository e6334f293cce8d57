// A visit to one of our pages: what the browser sent, and what it gets back.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { malformed, type StatusError, tooLarge } from '../../aip/errors.ts'
import { contentSecurityPolicy, page } from '../../pages/frame.ts'
import type { Html } from '../../pages/html.ts'
import { html } from '../../pages/html.ts'

export type Visit = {
  request: IncomingMessage
  response: ServerResponse
  method: string
  /** Below the auth URL. */
  path: string
  query: URLSearchParams
  address: string
  /** The fields of a form that was sent. */
  form(): Promise<URLSearchParams>
}

export type Answer =
  | { title: string; body: Html; status?: number; headers?: Record<string, string> }
  | { location: string; headers?: Record<string, string> }
  | { json: unknown; status?: number; headers?: Record<string, string> }

const largestForm = 16 * 1024

/** Where somebody goes, below the auth URL, and where they come from. */
export type Target = { path: string; query: string; address: string }

export function visitOf(request: IncomingMessage, response: ServerResponse, target: Target): Visit {
  return {
    ...{ request, response, method: request.method ?? 'GET', path: target.path, address: target.address },
    query: new URLSearchParams(target.query),
    form: () => readForm(request),
  }
}

export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const [type] = (request.headers['content-type'] ?? '').split(';', 1)
  if (type?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw malformed('a form must be sent as application/x-www-form-urlencoded', 415)
  const chunks: Buffer[] = []
  let size = 0
  // What is not read to its end can still be answered.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > largestForm) throw tooLarge(`a form must be at most ${largestForm} bytes`, 413)
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

export function send({ response, method }: Visit, answer: Answer): void {
  if (response.destroyed || response.writableEnded) return
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value)
  if ('location' in answer) {
    response.writeHead(303, { location: answer.location, 'content-length': 0 }).end()
    return
  }
  const [type, text] =
    'json' in answer
      ? ['application/json', JSON.stringify(answer.json)]
      : ['text/html; charset=utf-8', page(answer.title, answer.body)]
  response.setHeader('content-security-policy', contentSecurityPolicy)
  response.writeHead(answer.status ?? 200, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
  })
  response.end(method === 'HEAD' ? undefined : text)
}

/** What went wrong, in the words that a caller of the API would get, without the code before them. */
export function wordsOf({ message, violations: [violation] }: StatusError): string {
  if (!violation) return message.replace(/^[A-Z][a-z ]+: /, '')
  return `the ${violation.field.replaceAll('_', ' ')} ${violation.description}`
}

export const expired = () =>
  malformed('this sign-in has expired, or was begun in another browser; start again')

/** When it may be tried again, where that is known. */
export const retryOf = ({ headers }: StatusError): Record<string, string> =>
  headers['retry-after'] ? { 'retry-after': headers['retry-after'] } : {}

/** What a page says of an error. */
export function problemPage(error: StatusError): Answer {
  return {
    title: 'This did not work',
    body: html`<p role="alert">${sentence(wordsOf(error))}</p>`,
    status: error.http,
    headers: retryOf(error),
  }
}

export const sentence = (words: string) => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`

export const problem = (words: string | undefined): Html | undefined =>
  words === undefined ? undefined : html`<p role="alert" id="problem">${words}</p>`
