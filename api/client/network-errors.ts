import { Code } from '../gen/google/rpc/code_pb.ts'
import { StemmaError } from './stemma-error.ts'

/**
 * Calls `send`. If `send` fails, throws a `StemmaError` with the code `UNAVAILABLE` or, if the signal is aborted, the
 * reason of the signal.
 *
 * @example
 * ```ts
 * const baseUrl = 'http://localhost:8080'
 * const signal = AbortSignal.timeout(5_000)
 * const response = await withNetworkErrors(baseUrl, signal, () => fetch(`${baseUrl}/healthz`, { signal }))
 * ```
 */
export async function withNetworkErrors<T>(
  baseUrl: string,
  signal: AbortSignal,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send()
  } catch (cause) {
    signal.throwIfAborted()
    const message = `Unavailable: ${baseUrl} cannot be reached: ${messageOf(cause)}`
    throw new StemmaError(Code.UNAVAILABLE, message, { cause })
  }
}

type Failure = { message?: string; code?: string; cause?: unknown; errors?: unknown[] }

/** Node stores the reason in `cause`. For a host with several addresses, `errors` has one error per address. */
function rootCause(error: unknown): Failure {
  const failure = (error ?? {}) as Failure
  const inner = failure.cause ?? failure.errors?.[0]
  return inner === undefined ? failure : rootCause(inner)
}

const messageOf = (error: unknown) => rootCause(error).message || rootCause(error).code || String(error)

const connectErrorCodes = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]

/**
 * Whether the connection failed before anything was sent, so that even a write can be repeated. Always false in
 * browsers, which do not report the reason.
 *
 * @example
 * ```ts
 * const error = await withNetworkErrors('http://localhost:1', new AbortController().signal, () =>
 *   fetch('http://localhost:1'),
 * ).catch((error) => error)
 * wasNotSent(error) // true: the connection is refused
 * ```
 */
export const wasNotSent = (error: StemmaError): boolean =>
  error.status === undefined && connectErrorCodes.includes(rootCause(error).code ?? '')

/**
 * Creates the error for a call that took longer than its timeout.
 *
 * @example
 * ```ts
 * deadlineExceeded(5_000).message // 'Deadline exceeded: no answer within 5000 ms'
 * ```
 */
export const deadlineExceeded = (timeoutMs: number): StemmaError =>
  new StemmaError(Code.DEADLINE_EXCEEDED, `Deadline exceeded: no answer within ${timeoutMs} ms`)
