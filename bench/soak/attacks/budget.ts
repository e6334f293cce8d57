// Limits all attacks of a process together to a fixed rate of requests.

/** Requests that were not used accumulate for at most this many seconds. */
const maxSavedSeconds = 0.1

export type Budget = {
  /** Resolves when this many requests may be sent. */
  take(requests: number): Promise<void>
}

export function openBudget(
  perSecond: number,
  now: () => number,
  sleep: (ms: number) => Promise<unknown>,
): Budget {
  let saved = 0
  let countedUntil = now()
  return {
    async take(requests) {
      for (;;) {
        const time = now()
        const maxSaved = Math.max(perSecond * maxSavedSeconds, requests)
        saved = Math.min(maxSaved, saved + ((time - countedUntil) / 1000) * perSecond)
        countedUntil = time
        if (saved >= requests) break
        await sleep(Math.max(1, ((requests - saved) / perSecond) * 1000))
      }
      saved -= requests
    },
  }
}
