// Token buckets. A bucket is stored as one number: the time at which it will be full again (the generic cell rate
// algorithm). Each call moves this time by `costMs`; a call is refused if that would move it further than `burstMs` into
// the future. So a bucket needs no timer, and one that is not used needs no update.

export type Rate = {
  perSecond: number
  /** How many calls a full bucket admits at once. */
  burst: number
  costMs: number
  burstMs: number
}

/** Clients may save up the calls of this many seconds. */
export const burstSeconds = 10

/** Undefined if there is no limit. */
export function rateOf(perSecond: number): Rate | undefined {
  if (perSecond === 0) return undefined
  const costMs = 1000 / perSecond
  const burst = Math.max(1, Math.floor(perSecond * burstSeconds))
  // Without the added 0.001, rounding errors could make the bucket refuse the last call of a burst.
  return { perSecond, burst, costMs, burstMs: (burst + 0.001) * costMs }
}

export const admitsCall = (fullAt: number, { costMs, burstMs }: Rate, now: number) =>
  Math.max(fullAt, now) + costMs - now <= burstMs

/** When a bucket will be full after `calls` further calls. */
export const after = (fullAt: number, calls: number, { costMs }: Rate, now: number) =>
  Math.max(fullAt, now) + calls * costMs

/** How much of a bucket is used: 0 for nothing, 1 for all; more if other copies used it too. */
export const usedShare = (fullAt: number, { burstMs }: Rate, now: number) =>
  Math.max(0, fullAt - now) / burstMs

export const callsLeft = (fullAt: number, { costMs, burstMs }: Rate, now: number) =>
  Math.max(0, Math.floor((burstMs - Math.max(0, fullAt - now)) / costMs))

/** Whole seconds until the bucket admits a call again, at least one. */
export const secondsUntilCall = (fullAt: number, { costMs, burstMs }: Rate, now: number) =>
  Math.max(1, Math.ceil((fullAt - now + costMs - burstMs) / 1000))

/** Whole seconds until the bucket is full, at least one. */
export const secondsUntilFull = (fullAt: number, now: number) => Math.max(1, Math.ceil((fullAt - now) / 1000))
