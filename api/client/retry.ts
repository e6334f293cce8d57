// Tries a call again where that can do no harm: AIP-194.
import { Code } from '../gen/google/rpc/code_pb.ts'
import { StemmaError } from './errors.ts'
import { pause } from './time.ts'

export type Retry = {
  /** How often a call is tried at most. */
  attempts: number
  /** In milliseconds; doubled each time, and shortened by chance so that clients do not come all at once. */
  firstDelay: number
  /** In milliseconds: no delay is longer, and a server that asks for more is not asked again. */
  longestDelay: number
  /** From 0 up to 1. */
  random: () => number
}

export const defaultRetry: Retry = {
  attempts: 4,
  firstDelay: 100,
  longestDelay: 10_000,
  random: Math.random,
}

/** `isRepeatable` says whether an attempt that failed in this way may be made again. */
export async function withRetries<T>(
  retry: Retry,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  isRepeatable: (error: StemmaError) => boolean,
): Promise<T> {
  for (let made = 1; ; made += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (made >= retry.attempts || !(error instanceof StemmaError)) throw error
      if (error.code !== Code.UNAVAILABLE || !isRepeatable(error)) throw error
      const delay = delayOf(retry, made, error.retryDelay)
      if (delay > retry.longestDelay) throw error
      await pause(delay, signal)
    }
  }
}

function delayOf({ firstDelay, longestDelay, random }: Retry, made: number, asked = 0): number {
  const growing = Math.min(longestDelay, firstDelay * 2 ** (made - 1))
  return Math.max(asked, growing * (0.5 + random() / 2))
}
