// Ends bodies that arrive too slowly, so that a client cannot keep an upload and a connection for ever.
import type { Readable } from 'node:stream'

/** At least this many bytes must arrive in each period, unless the body ends in it. */
export type MinimumRate = { bytes: number; periodMs: number }

/** About 1 KB per second: slower than any connection over which images can be pushed. */
export const defaultMinimumRate: MinimumRate = { bytes: 64 * 1024, periodMs: 60_000 }

export type BodyWatch = {
  /** Aborted when the body is too slow. */
  signal: AbortSignal
  stop(): void
}

/** A period in which the server has paused the body, because it stores more slowly than the client sends, does not count. */
export function watchBody(body: Readable, { bytes, periodMs }: MinimumRate): BodyWatch {
  const tooSlow = new AbortController()
  let received = 0
  let wasPaused = false
  const onData = (chunk: Buffer) => {
    received += chunk.length
  }
  const onPause = () => {
    wasPaused = true
  }
  const timer = setInterval(() => {
    if (received < bytes && !wasPaused && !body.isPaused()) tooSlow.abort()
    received = 0
    wasPaused = false
  }, periodMs)
  timer.unref()
  body.on('data', onData).on('pause', onPause)
  body.pause() // `on('data')` has resumed the body, but its reader is not attached yet
  wasPaused = false
  return {
    signal: tooSlow.signal,
    stop() {
      clearInterval(timer)
      body.off('data', onData).off('pause', onPause)
    },
  }
}
