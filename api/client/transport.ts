// Sends calls as JSON over HTTP, with timeouts, retries and access tokens. Needs no Node API: browsers can run it.
import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'
import { checkBaseUrl } from './base-url.ts'
import { errorFromResponse } from './error-response.ts'
import { readJsonLines } from './json-lines.ts'
import { parseObject } from './json-object.ts'
import { deadlineExceeded, wasNotSent, withNetworkErrors } from './network-errors.ts'
import type { CallOptions, ConnectionOptions } from './options.ts'
import { defaultRetry, withRetries } from './retry.ts'
import type { Route } from './route.ts'
import { StemmaError } from './stemma-error.ts'
import type { Timeout } from './timeout.ts'
import { abortable, startTimeout } from './timeout.ts'
import type { HttpRequest } from './transcode.ts'
import { transcode } from './transcode.ts'
import { readWarnings } from './warnings.ts'

/**
 * Sends calls by their routes.
 *
 * @example
 * ```ts
 * const transport: Transport = createTransport({ baseUrl: 'http://localhost:8080' })
 * const pong = await transport.call({ verb: 'GET', path: '/ping/v2beta1/ping' }, {}) // { response: 'pong' }
 * ```
 */
export type Transport = {
  call(route: Route, request: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** Returns the documents of a stream as they arrive. */
  stream(route: Route, request: JsonObject, options?: CallOptions): AsyncGenerator<JsonObject, void>
}

/**
 * Creates a transport. No connection is opened until the first call.
 *
 * @example
 * ```ts
 * import { AdvisoriesService } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
 *
 * const transport = createTransport({ baseUrl: 'http://localhost:8080', token: 'an access token' })
 * for await (const osv of transport.stream(AdvisoriesService.exportAdvisoriesOsv, {})) console.log(osv.id)
 * ```
 */
export function createTransport(options: ConnectionOptions): Transport {
  const connection = withDefaults(options)
  return {
    call: (route, request, callOptions = {}) =>
      sendUnary(connection, { route, request, options: callOptions }),
    stream: (route, request, callOptions = {}) =>
      sendStream(connection, { route, request, options: callOptions }),
  }
}

const defaultTimeoutMs = 60_000

function withDefaults(options: ConnectionOptions) {
  return {
    ...options,
    baseUrl: checkBaseUrl(options.baseUrl),
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    retry: { ...defaultRetry, ...options.retry },
    fetch: options.fetch ?? globalThis.fetch,
    newIdempotencyKey: options.newIdempotencyKey ?? randomKey,
    now: options.now ?? Date.now,
  }
}

/** Not `crypto.randomUUID`, which browsers have only for pages over https. */
const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

type ResolvedOptions = ReturnType<typeof withDefaults>
type Call = { route: Route; request: JsonObject; options: CallOptions }

async function sendUnary(connection: ResolvedOptions, call: Call): Promise<JsonObject> {
  const timeout = startCallTimeout(connection, call.options)
  try {
    return await send(connection, call, timeout.signal, async (response) => {
      const text = await withNetworkErrors(connection.baseUrl, timeout.signal, () => response.text())
      return text === '' ? {} : parseResponse(text, response)
    })
  } finally {
    timeout.clear()
  }
}

async function* sendStream(connection: ResolvedOptions, call: Call): AsyncGenerator<JsonObject, void> {
  const timeout = startCallTimeout(connection, call.options)
  try {
    const body = await send(connection, call, timeout.signal, async (response) => response.body)
    if (body) yield* readJsonLines(readChunks(body, connection.baseUrl, timeout))
  } finally {
    timeout.clear()
  }
}

function startCallTimeout(connection: ResolvedOptions, options: CallOptions): Timeout {
  const timeoutMs = options.timeoutMs ?? connection.timeoutMs
  return startTimeout(timeoutMs, () => deadlineExceeded(timeoutMs), options.signal)
}

/** Sends a call with retries. An attempt includes `read`, because the connection can break while the body is read. */
async function send<T>(
  connection: ResolvedOptions,
  { route, request, options }: Call,
  signal: AbortSignal,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const httpRequest = transcode(route, request)
  // Getting a token is not retried here: a token source makes its own retries.
  const token = await abortable(signal, currentToken(connection))
  const init = {
    method: httpRequest.verb,
    // All attempts have the same idempotency key.
    headers: headersOf(connection, route, httpRequest, options, token),
    ...bodyOf(httpRequest),
    signal,
    redirect: 'error' as const,
  }
  const isIdempotent = options.isIdempotent ?? (route.verb === 'GET' || route.isCreate === true)
  return withRetries(
    connection.retry,
    signal,
    async () => read(await sendOnce(connection, httpRequest.target, init, options)),
    (error) => isIdempotent || wasNotSent(error),
  ).catch((error: unknown) => {
    invalidateIfRejected(connection, token, error)
    throw error
  })
}

async function sendOnce(
  { baseUrl, fetch, now, onWarning }: ResolvedOptions,
  target: string,
  init: RequestInit & { signal: AbortSignal },
  { onHeaders }: CallOptions,
): Promise<Response> {
  const response = await withNetworkErrors(baseUrl, init.signal, () => fetch(baseUrl + target, init))
  if (!response.ok) {
    const text = await withNetworkErrors(baseUrl, init.signal, () => response.text())
    throw errorFromResponse(response, text, now())
  }
  onHeaders?.(response.headers)
  if (onWarning) for (const warning of readWarnings(response.headers)) onWarning(warning)
  return response
}

const currentToken = async ({ token }: ResolvedOptions) => (typeof token === 'function' ? token() : token)

/** Invalidates the token if the server rejected it, so that the next call gets another one from the token source. */
function invalidateIfRejected(
  { token: source }: ResolvedOptions,
  token: string | undefined,
  error: unknown,
): void {
  const isRejected = error instanceof StemmaError && error.code === Code.UNAUTHENTICATED
  if (isRejected && token !== undefined && typeof source === 'function') source.invalidate?.(token)
}

function bodyOf({ body, form }: HttpRequest): { body?: string } {
  if (form !== undefined) return { body: form }
  return body ? { body: JSON.stringify(body) } : {}
}

function headersOf(
  connection: ResolvedOptions,
  { isCreate }: Route,
  { body, form }: HttpRequest,
  options: CallOptions,
  token: string | undefined,
): Headers {
  const headers = new Headers(connection.headers)
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value)
  if (body) headers.set('content-type', 'application/json')
  if (form !== undefined) {
    headers.set('content-type', 'application/x-www-form-urlencoded')
    headers.set('x-http-method-override', 'GET')
  }
  if (isCreate && !headers.has(keyHeader)) headers.set(keyHeader, `"${connection.newIdempotencyKey()}"`)
  if (token !== undefined) headers.set('authorization', `Bearer ${checkToken(token)}`)
  return headers
}

const keyHeader = 'idempotency-key'

/** Rejects invalid tokens before `Headers.set` does: its error would quote the token, which is a secret. */
function checkToken(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('the token is empty or contains characters that are not allowed in a token')
  return token
}

function parseResponse(text: string, { status, headers }: Response): JsonObject {
  const response = parseObject(text)
  if (response) return response
  const requestId = headers.get('x-request-id') ?? undefined
  throw new StemmaError(Code.INTERNAL, 'Internal: the response is not a JSON object', { status, requestId })
}

/** The timeout runs while the client waits for the server, not while the caller processes a chunk. */
async function* readChunks(body: ReadableStream<Uint8Array>, baseUrl: string, timeout: Timeout) {
  const reader = body.getReader()
  try {
    for (;;) {
      timeout.restart()
      const { done, value } = await withNetworkErrors(baseUrl, timeout.signal, () =>
        abortable(timeout.signal, reader.read()),
      )
      if (done) return
      timeout.pause()
      yield value
    }
  } finally {
    // Closes the connection if the caller leaves the loop early. An error of the stream has been thrown already.
    await reader.cancel().catch(() => undefined)
  }
}
