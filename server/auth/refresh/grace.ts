/**
 * For this long after its first use, in milliseconds, a refresh token yields the same successor
 * again. Programs that share a token may use it at the same time, and a client that got no response
 * repeats the call; published clients give up within a minute. A thief gains little: thief and
 * owner get the same successor, and the sign-in ends if one of them uses it after its grace period.
 */
const gracePeriodMs = 60_000

/** Whether a refresh token that was used at `useTime` may be used again. */
export const isInGracePeriod = (useTime: number | undefined, now: number): boolean =>
  useTime !== undefined && now - useTime <= gracePeriodMs
