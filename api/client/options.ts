import type { RetryOptions } from './retry.ts'
import type { TokenSource } from './token-source.ts'
import type { Warning } from './warnings.ts'

/**
 * Where and how a client calls a server.
 *
 * @example
 * ```ts
 * import type { ConnectionOptions } from '@stemma/api'
 * import { createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 * import { RolesService } from '@stemma/api/platform/iam/v2beta1/role'
 *
 * const options: ConnectionOptions = {
 *   baseUrl: 'https://stemma.example.com',
 *   token: process.env.STEMMA_TOKEN,
 *   timeoutMs: 10_000,
 *   headers: { 'user-agent': 'inventory/1.2' },
 *   onWarning: ({ field, description }) => console.warn(`${field}: ${description}`),
 * }
 * const groups = createClient(GroupsService, options)
 * const roles = createClient(RolesService, options)
 * ```
 */
export type ConnectionOptions = {
  /** URL of the server, such as `https://stemma.example.com`. */
  baseUrl: string
  /** Access token, or a source of tokens. Without one, calls are sent without credentials. */
  token?: string | TokenSource | undefined
  /**
   * Time limit in milliseconds. For a call with one response, it includes all retries. For a stream, it applies to each
   * wait for data from the server. Default: 60,000.
   */
  timeoutMs?: number | undefined
  retry?: Partial<RetryOptions> | undefined
  /** Headers of every request. */
  headers?: Record<string, string> | undefined
  /** Receives the warnings of successful responses. Default: warnings are ignored. */
  onWarning?: ((warning: Warning) => void) | undefined
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof fetch | undefined
  /** Returns a new idempotency key for a call that creates something. Default: 128 random bits. */
  newIdempotencyKey?: (() => string) | undefined
  /** Returns the time in milliseconds since 1970. Default: `Date.now`. */
  now?: (() => number) | undefined
}

/**
 * Options of one call. `timeoutMs` replaces that of the connection, `headers` are added to those of the connection.
 *
 * @example
 * ```ts
 * import { createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const groups = createClient(GroupsService, { baseUrl: 'http://localhost:8080', token: 'an access token' })
 * const uid = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b'
 * let etag = ''
 * await groups.getGroup(
 *   { uid },
 *   {
 *     timeoutMs: 5_000,
 *     onHeaders: (headers) => {
 *       etag = headers.get('etag') ?? ''
 *     },
 *   },
 * )
 * // Fails with `ABORTED` if the group has changed since it was read.
 * await groups.deleteGroup({ uid }, { headers: { 'if-match': etag } })
 * ```
 */
export type CallOptions = {
  /** Aborts the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  headers?: Record<string, string> | undefined
  /**
   * Whether it is safe to retry the call if the server may have executed it. Default: true for reads (GET), and for calls
   * that create something, because these are sent with an idempotency key.
   */
  isIdempotent?: boolean | undefined
  /** Receives the headers of a successful response, such as its `ETag`. */
  onHeaders?: ((headers: Headers) => void) | undefined
}
