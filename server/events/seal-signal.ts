// Lets readers of the event log wait until there may be new events.

export type SealSignal = {
  /** Resolves after the next sealing in this thread, when the signal is closed, or after this time. */
  wait(ms: number): Promise<void>
  /** To be called when events were sealed. */
  notify(): void
  /** Whether the server stops, so that readers must end. */
  isClosed(): boolean
  close(): void
}

export function openSealSignal(): SealSignal {
  let waiting = new Set<() => void>()
  let closed = false
  const notify = () => {
    const woken = waiting
    waiting = new Set()
    for (const wake of woken) wake()
  }
  return {
    wait: (ms) =>
      new Promise((resolve) => {
        if (closed) return resolve()
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms).unref()
        waiting.add(wake)
      }),
    notify,
    isClosed: () => closed,
    close() {
      closed = true
      notify()
    },
  }
}
