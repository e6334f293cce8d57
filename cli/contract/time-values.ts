// Durations and times as people write them.
import { UsageError } from '../failure.ts'

const secondsPerUnit: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
const duration = /^(?:\d+(?:\.\d+)?\s*[smhdw]\s*)+$/

/** Parses `90s`, `24h` or `1d 12h` to the JSON of a Duration, which is in seconds. */
export function parseDuration(text: string): string {
  if (!duration.test(text))
    throw new UsageError(`must be a duration such as 90s, 45m, 24h or 7d, not ${JSON.stringify(text)}`)
  return `${secondsOf(text)}s`
}

function secondsOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([smhdw])/g)]
  const sum = parts.reduce(
    (total, [, count, unit = '']) => total + Number(count) * (secondsPerUnit[unit] ?? 0),
    0,
  )
  return Math.round(sum * 1000) / 1000
}

/**
 * Parses `2026-01-31`, `2026-01-31T12:00:00Z`, `24h ago` or `in 90d`. A duration alone is in the past if `isPast` is set
 * and in the future otherwise. A time without an offset is in UTC, like the times that commands print.
 */
export function parseTime(text: string, now: number, isPast: boolean): string {
  const [, future, length, past] = /^(in\s+)?(.*?)(\s+ago)?$/.exec(text.trim()) ?? []
  if (length !== undefined && duration.test(length) && !(future && past)) {
    const sign = future ? 1 : past || isPast ? -1 : 1
    return isoTime(now + sign * secondsOf(length) * 1000, text)
  }
  const [, day = '', clock = '00:00', offset = 'Z'] = time.exec(text) ?? []
  return isoTime(isOnCalendar(day) ? Date.parse(`${day}T${clock}${offset}`) : Number.NaN, text)
}

const time = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/

/** Whether a day exists. `Date` reads 31 February as 3 March. */
const isOnCalendar = (day: string) => new Date(day).getUTCDate() === Number(day.slice(8))

function isoTime(milliseconds: number, text: string): string {
  const date = new Date(milliseconds)
  if (Number.isNaN(date.getTime()))
    throw new UsageError(
      `must be a time such as 2026-01-31 (UTC), 2026-01-31T12:00:00Z, "24h ago" or "in 90d", not ${JSON.stringify(text)}`,
    )
  return date.toISOString()
}
