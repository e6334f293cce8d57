// Extends the lease of an upload while a request uses it.

export type Lease = {
  /** Aborted before another request can take the upload: this one must stop writing to it. */
  signal: AbortSignal
  stop(): void
}

/**
 * A lease expires after 60 seconds. Giving up after 40 leaves time for a write that is under way,
 * and for differences between the clocks of copies.
 */
const extendAfterMs = 15_000
const giveUpAfterMs = 40_000

/** If `extend` rejects, it is called again later: a failure of the store may be temporary. */
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
