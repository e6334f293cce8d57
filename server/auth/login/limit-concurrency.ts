export type ConcurrencyLimits = { maxRunning: number; maxWaiting: number; refusal: () => Error }

/** Runs at most `maxRunning` calls at a time. Up to `maxWaiting` further calls wait; all others are refused. */
export function limitConcurrency<Args extends unknown[], T>(
  action: (...args: Args) => Promise<T>,
  { maxRunning, maxWaiting, refusal }: ConcurrencyLimits,
): (...args: Args) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (...args) => {
    if (running < maxRunning) running++
    else {
      if (waiting.length >= maxWaiting) throw refusal()
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    try {
      return await action(...args)
    } finally {
      // A waiting call takes the place of this one, so `running` stays the same.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
