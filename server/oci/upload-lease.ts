// Extends the lease of an upload while a request uses it.

export type Lease = {
  /** Aborted when another request may take the upload: this one must not write to it any more. */
  signal: AbortSignal
  stop(): void
}

/** A lease expires after 60 seconds. The rest is for copies whose clocks differ, and for a write that is under way. */
const extendAfterMs = 15_000
const giveUpAfterMs = 40_000

/** `extend` rejects if the lease cannot be extended. A failure of the store may pass, so it is tried again. */
export function keepLease(extend: () => Promise<unknown>, clock = () => performance.now()): Lease {
  const lost = new AbortController()
  let extendedAt = clock()
  const timer = setInterval(() => {
    const startedAt = clock()
    extend().then(
      () => {
        extendedAt = startedAt
      },
      () => {},
    )
    if (startedAt - extendedAt >= giveUpAfterMs) lost.abort()
  }, extendAfterMs)
  timer.unref()
  return { signal: lost.signal, stop: () => clearInterval(timer) }
}
