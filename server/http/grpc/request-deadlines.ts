// Deadlines for calls whose client sent no deadline and never completes the request. Calls with a complete request are
// ended by the corridor. One interval serves all calls: a timer per call would cost more than the rest of the
// interceptor.

/** The part of an HTTP/2 stream that is needed here. */
type Incoming = { destroyed: boolean; readableEnded: boolean }

export type RequestDeadlines<S extends Incoming> = {
  add(stream: S, timeoutMs: number): void
  delete(stream: S): void
  stop(): void
}

const checkIntervalMs = 1000

export function openRequestDeadlines<S extends Incoming>(
  onExceeded: (stream: S) => void,
  now: () => number,
): RequestDeadlines<S> {
  const deadlines = new Map<S, number>()

  function check(): void {
    const time = now()
    for (const [stream, deadline] of deadlines) {
      const isComplete = stream.destroyed || stream.readableEnded
      if (!isComplete && deadline > time) continue
      deadlines.delete(stream)
      if (!isComplete) onExceeded(stream)
    }
  }

  const interval = setInterval(check, checkIntervalMs).unref()
  return {
    add: (stream, timeoutMs) => void deadlines.set(stream, now() + timeoutMs),
    delete: (stream) => void deadlines.delete(stream),
    stop: () => clearInterval(interval),
  }
}
