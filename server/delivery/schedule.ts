// When a failed delivery is attempted again, and how long a failing sink is left alone. Times are in milliseconds.
import type { RandomBytes } from '../crypto/random.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/**
 * The time from each attempt to the next, as Standard Webhooks recommends. The last one repeats
 * until the deadline of the delivery.
 */
const delays = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour]

/** Delays are lengthened by up to this fraction, so that the retries of many deliveries do not come together. */
const maxJitter = 0.1

/** The time until the next attempt of a delivery that has failed `failures` times, at least once. */
export function retryDelay(failures: number, random: RandomBytes): number {
  const delay = delays[Math.min(failures, delays.length) - 1] ?? 0
  return Math.round(delay * (1 + maxJitter * (random(4).readUInt32BE() / 2 ** 32)))
}

const maxPauseMs = 5 * minute

/** How long a sink gets no requests at all, after this many failures in a row. */
export const pauseAfter = (failures: number): number =>
  failures === 0 ? 0 : Math.min(5 * second * 4 ** Math.min(failures - 1, 8), maxPauseMs)

const maxRetryAfterMs = 24 * hour

/** The time that a Retry-After header asks for (RFC 9110, 10.2.3), at most a day. 0 if it is absent or not valid. */
export function retryAfterMs(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  const text = header.trim()
  const wait = /^\d{1,15}$/.test(text) ? Number(text) * second : Date.parse(text) - now
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), maxRetryAfterMs) : 0
}

/** A subscription is disabled if nothing has succeeded for this long. */
export const maxFailingMs = 5 * 24 * hour
