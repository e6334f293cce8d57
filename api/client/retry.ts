// Retries with exponential backoff and jitter (AIP-194).
import { Code } from '../gen/google/rpc/code_pb.ts'
import { StemmaError } from './stemma-error.ts'
import { sleep } from './timeout.ts'

/**
 * How often and after which delays a call is retried.
 *
 * @example
 * ```ts
 * import type { RetryOptions } from '@stemma/api'
 * import { createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const retry: Partial<RetryOptions> = { maxAttempts: 6, maxDelayMs: 30_000 }
 * const groups = createClient(GroupsService, { baseUrl: 'http://localhost:8080', retry })
 * ```
 */
export type RetryOptions = {
  /** Attempts in total, including the first. 1 turns retries off. Default: 4. */
  maxAttempts: number
  /** Delay before the first retry, in milliseconds. Doubled for each further retry. Default: 100. */
  initialDelayMs: number
  /**
   * Upper limit of the backoff delay, and of a delay that the server asks for, in milliseconds. If
   * the server asks for a longer delay, the call fails. Otherwise, the client waits for the sum of
   * both delays. Default: 10,000.
   */
  maxDelayMs: number
  /** Returns a number from 0 to below 1 for the jitter: a delay is reduced by up to half. Default: `Math.random`. */
  random: () => number
  /** Called before each delay, with its milliseconds and the error of the last attempt. Default: nothing. */
  onDelay?: ((delayMs: number, error: StemmaError) => void) | undefined
}

/**
 * The default retry options of a client.
 *
 * @example
 * ```ts
 * const retry: RetryOptions = { ...defaultRetry, maxAttempts: 10 }
 * ```
 */
export const defaultRetry: RetryOptions = {
  maxAttempts: 4,
  initialDelayMs: 100,
  maxDelayMs: 10_000,
  random: Math.random,
}

/**
 * Calls `attempt`, at most `maxAttempts` times. Retries after a `StemmaError` with the code
 * `UNAVAILABLE` if `mayRepeat` returns true. If the server refused the call for now and said when
 * to repeat it, retries without asking `mayRepeat`.
 *
 * @example
 * ```ts
 * import { createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const options = { baseUrl: 'http://localhost:8080', retry: { maxAttempts: 1 } }
 * const groups = createClient(GroupsService, options)
 * const { signal } = new AbortController()
 * const page = await withRetries(defaultRetry, signal, () => groups.listGroups({}), () => true)
 * ```
 */
export async function withRetries<T>(
  retry: RetryOptions,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  mayRepeat: (error: StemmaError) => boolean,
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (attempts >= retry.maxAttempts || !(error instanceof StemmaError)) throw error
      if (!wasRefusedForNow(error) && (error.code !== Code.UNAVAILABLE || !mayRepeat(error))) throw error
      const askedMs = error.retryDelayMs ?? 0
      if (askedMs > retry.maxDelayMs) throw error
      // The backoff is added, so that calls that were refused together are not retried together.
      const delayMs = askedMs + backoff(retry, attempts)
      retry.onDelay?.(delayMs, error)
      await sleep(delayMs, signal)
    }
  }
}

/**
 * Whether the server refused the call without executing it, and said when to repeat it: a limit is
 * reached, or the first attempt with the same idempotency key is still running.
 */
const wasRefusedForNow = ({ code, status, retryDelayMs }: StemmaError) =>
  retryDelayMs !== undefined &&
  ((code === Code.RESOURCE_EXHAUSTED && status === 429) || (code === Code.ABORTED && status === 409))

function backoff({ initialDelayMs, maxDelayMs, random }: RetryOptions, attempts: number): number {
  const delayMs = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempts - 1))
  return delayMs * (0.5 + random() / 2)
}
