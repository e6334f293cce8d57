// Deadlines for calls that the corridor does not end: calls whose request is never completed, and calls whose reply is
// never read. One interval serves all calls: a timer per call would take more time than all other
// work of the interceptor.

/** The part of an HTTP/2 stream that is needed here. */
type Incoming = { destroyed: boolean; headersSent: boolean }

export type RequestDeadlines<S extends Incoming> = {
  add(stream: S, timeoutMs: number): void
  delete(stream: S): void
  stop(): void
}

type DeadlineOptions<S> = {
  /** Called at the deadline of a call whose response has not begun. */
  onExceeded(stream: S): void
  /** Called `graceMs` after the deadline of a call that has not ended. */
  onGraceEnded(stream: S): void
  now(): number
}

const checkIntervalMs = 1000
/** How long after the deadline the client may still read the status. */
const graceMs = 5000

export function openRequestDeadlines<S extends Incoming>({
  onExceeded,
  onGraceEnded,
  now,
}: DeadlineOptions<S>): RequestDeadlines<S> {
  const deadlines = new Map<S, number>()

  function check(): void {
    const time = now()
    for (const [stream, deadline] of deadlines) {
      if (stream.destroyed) deadlines.delete(stream)
      else if (deadline > time) continue
      else if (deadline + graceMs <= time) {
        deadlines.delete(stream)
        onGraceEnded(stream)
      } else if (!stream.headersSent) onExceeded(stream)
    }
  }

  const interval = setInterval(check, checkIntervalMs).unref()
  return {
    add: (stream, timeoutMs) => void deadlines.set(stream, now() + timeoutMs),
    delete: (stream) => void deadlines.delete(stream),
    stop: () => clearInterval(interval),
  }
}
