// Calls to a server as JSON: sends a request, and again where that does no harm, and tells what came back.
import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { errorOf, readObject, StemmaError } from './errors.ts'
import { readLines } from './lines.ts'
import { reach, tooLong, wasRefused } from './reach.ts'
import type { Retry } from './retry.ts'
import { defaultRetry, withRetries } from './retry.ts'
import type { Route } from './route.ts'
import type { Limit } from './time.ts'
import { limit, unless } from './time.ts'
import type { HttpRequest } from './transcode.ts'
import { transcode } from './transcode.ts'

/** Tells an access token whenever one is needed. */
export type TokenSource = {
  (): string | Promise<string>
  /** Is told of a token that the server no longer takes. */
  forget?: ((token: string) => void) | undefined
}

export type ConnectionOptions = {
  /** Where the server is, such as `https://stemma.example.com`. */
  baseUrl: string
  token?: string | TokenSource | undefined
  /** In milliseconds, for a whole call with all its attempts; of a stream, for each wait. A minute unless given. */
  timeout?: number | undefined
  retry?: Partial<Retry> | undefined
  /** Sent with every call. */
  headers?: Record<string, string> | undefined
  fetch?: typeof fetch | undefined
}

export type CallOptions = {
  /** Whoever aborts it gets its reason as the error. */
  signal?: AbortSignal | undefined
  timeout?: number | undefined
  headers?: Record<string, string> | undefined
  /** Whether it does no harm to send it twice. Reads do none. */
  isRepeatable?: boolean | undefined
  /** Gets the headers of the answer, such as its `ETag`. */
  onHeaders?: ((headers: Headers) => void) | undefined
}

export type Transport = {
  ask(route: Route, request: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** The documents of a stream as they come. */
  read(route: Route, request: JsonObject, options?: CallOptions): AsyncGenerator<JsonObject, void>
}

const minute = 60_000

export function openTransport(connection: ConnectionOptions): Transport {
  const base = originOf(connection.baseUrl)
  const { token } = connection
  const retry = { ...defaultRetry, ...connection.retry }
  const send = connection.fetch ?? globalThis.fetch

  const tokenOf = async () => (typeof token === 'function' ? token() : token)

  function headersOf({ body }: HttpRequest, options: CallOptions, bearer: string | undefined): Headers {
    const headers = new Headers({ ...connection.headers, ...options.headers })
    if (body) headers.set('content-type', 'application/json')
    if (bearer !== undefined) headers.set('authorization', `Bearer ${checked(bearer)}`)
    return headers
  }

  /** The next call may have better luck with another token. */
  function forget(bearer: string | undefined, error: unknown): never {
    const isRefused = error instanceof StemmaError && error.code === Code.UNAUTHENTICATED
    if (isRefused && bearer !== undefined && typeof token === 'function') token.forget?.(bearer)
    throw error
  }

  /** One attempt; `take` reads the answer, which can fail by the connection as well. */
  async function attempt<T>(
    target: string,
    init: RequestInit & { signal: AbortSignal },
    { onHeaders }: CallOptions,
    take: (answer: Response) => Promise<T>,
  ): Promise<T> {
    const answer = await reach(base, init.signal, () => send(base + target, init))
    if (!answer.ok) {
      const text = await reach(base, init.signal, () => answer.text())
      throw errorOf(answer.status, answer.headers, text)
    }
    onHeaders?.(answer.headers)
    return take(answer)
  }

  async function begin<T>(
    route: Route,
    json: JsonObject,
    options: CallOptions,
    { signal }: Limit,
    take: (answer: Response) => Promise<T>,
  ): Promise<T> {
    const request = transcode(route, json)
    // Fetched with attempts of its own.
    const bearer = await unless(signal, tokenOf())
    const init = {
      method: request.verb,
      headers: headersOf(request, options, bearer),
      ...(request.body && { body: JSON.stringify(request.body) }),
      ...{ signal, redirect: 'error' as const },
    }
    const isRepeatable = options.isRepeatable ?? request.verb === 'GET'
    return withRetries(
      retry,
      signal,
      () => attempt(request.target, init, options, take),
      (error) => isRepeatable || wasRefused(error),
    ).catch((error) => forget(bearer, error))
  }

  const limitOf = (options: CallOptions) => {
    const timeout = options.timeout ?? connection.timeout ?? minute
    return limit(timeout, () => tooLong(timeout), options.signal)
  }

  return {
    async ask(route, json, options = {}) {
      const time = limitOf(options)
      try {
        return await begin(route, json, options, time, async (answer) => {
          const text = await reach(base, time.signal, () => answer.text())
          return text === '' ? {} : parse(text, answer)
        })
      } finally {
        time.clear()
      }
    },

    async *read(route, json, options = {}) {
      const time = limitOf(options)
      try {
        const body = await begin(route, json, options, time, async (answer) => answer.body)
        if (body) yield* readLines(chunksOf(body, base, time))
      } finally {
        time.clear()
      }
    },
  }
}

function originOf(baseUrl: string): string {
  const { protocol, username, password, search, hash } = URL.canParse(baseUrl) ? new URL(baseUrl) : nowhere
  if (!/^https?:$/.test(protocol) || username + password + search + hash !== '')
    throw new TypeError('baseUrl must be an http or https URL without a user, a query or a fragment')
  return baseUrl.replace(/\/+$/, '')
}

const nowhere = { protocol: '', username: '', password: '', search: '', hash: '' }

/** What is wrong with a header is told with the header itself, and a token is a secret. */
function checked(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('the token is empty or has characters that no token has')
  return token
}

function parse(text: string, { status, headers }: Response): JsonObject {
  const answer = readObject(text)
  if (answer) return answer
  const requestId = headers.get('x-request-id') ?? undefined
  throw new StemmaError(Code.INTERNAL, 'Internal: the answer is no JSON object', { status, requestId })
}

/** The time is counted only while something is waited for. */
async function* chunksOf(body: ReadableStream<Uint8Array>, base: string, time: Limit) {
  const reader = body.getReader()
  try {
    for (;;) {
      time.extend()
      const { done, value } = await reach(base, time.signal, () => unless(time.signal, reader.read()))
      if (done) return
      time.pause()
      yield value
    }
  } finally {
    // Whoever leaves early lets the server know; what else is wrong has been told.
    await reader.cancel().catch(() => undefined)
  }
}
