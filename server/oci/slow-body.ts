// Ends bodies that arrive too slowly, so that a client cannot keep an upload and a connection for ever.
import type { Readable } from 'node:stream'

/** At least `bytes` must arrive in every `periodMs` of reading, except in the last period. */
export type MinimumRate = { bytes: number; periodMs: number }

/** About 1 KB per second: slower than any connection over which images can be pushed. */
export const defaultMinimumRate: MinimumRate = { bytes: 64 * 1024, periodMs: 60_000 }

export type BodyWatch = {
  /** Aborted when the body is too slow. */
  signal: AbortSignal
  stop(): void
}

/**
 * Compares the bytes that arrive with the time in which the server reads. Time in which it has paused the body, because it
 * stores more slowly than the client sends, does not count. `clock` is monotonic, in milliseconds.
 */
export function watchBody(
  body: Readable,
  { bytes, periodMs }: MinimumRate,
  clock: () => number = () => performance.now(),
): BodyWatch {
  const tooSlow = new AbortController()
  let received = 0
  /** The reading time that is left in the period. */
  let remainingMs = periodMs
  let readingSince = 0
  let timer: NodeJS.Timeout | undefined
  const onData = (chunk: Buffer) => {
    received += chunk.length
  }
  const onResume = () => {
    // The stream emits `resume` with a delay, and can be paused again by then.
    if (timer || body.isPaused()) return
    readingSince = clock()
    timer = setTimeout(onPeriodEnd, remainingMs).unref()
  }
  const onPause = () => {
    if (!timer) return
    clearTimeout(timer)
    timer = undefined
    remainingMs -= clock() - readingSince
  }
  const onPeriodEnd = () => {
    timer = undefined
    if (received < bytes) {
      tooSlow.abort()
      return
    }
    received = 0
    remainingMs = periodMs
    onResume()
  }
  body.on('data', onData).on('resume', onResume).on('pause', onPause).on('end', onPause)
  body.pause() // `on('data')` has resumed the body, but its reader is not attached yet
  return {
    signal: tooSlow.signal,
    stop() {
      clearTimeout(timer)
      body.off('data', onData).off('resume', onResume).off('pause', onPause).off('end', onPause)
    },
  }
}
