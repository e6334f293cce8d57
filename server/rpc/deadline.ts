// Rejects calls at their deadlines.
import { deadlineExceeded } from '../aip/errors.ts'

export type Deadlines = {
  /** The deadline of a call that starts now, in milliseconds since 1970. */
  after(timeoutMs: number): number
  msUntil(deadline: number): number
  /** Settles as the promise does, or rejects at the deadline, at most one check interval late. */
  enforce<T>(promise: Promise<T>, deadline: number): Promise<T>
}

const checkIntervalMs = 20

type PendingCall = { deadline: number; rejectCall(): void }

/** One interval serves all calls: a timer for each call would take more time than the rest of the corridor. */
export function openDeadlines(now: () => number): Deadlines {
  const pending = new Set<PendingCall>()
  let interval: NodeJS.Timeout | undefined

  function check(): void {
    if (pending.size === 0) {
      clearInterval(interval)
      interval = undefined
    }
    const time = now()
    for (const call of pending) {
      if (call.deadline > time) continue
      pending.delete(call)
      call.rejectCall()
    }
  }

  return {
    after: (timeoutMs) => now() + timeoutMs,
    msUntil: (deadline) => deadline - now(),
    enforce: (promise, deadline) =>
      new Promise((resolve, reject) => {
        const call: PendingCall = { deadline, rejectCall: () => reject(deadlineExceeded()) }
        pending.add(call)
        interval ??= setInterval(check, checkIntervalMs).unref()
        promise.then(
          (value) => {
            pending.delete(call)
            resolve(value)
          },
          (error: unknown) => {
            pending.delete(call)
            reject(error)
          },
        )
      }),
  }
}
