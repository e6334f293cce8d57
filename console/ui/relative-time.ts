/** The units with their length in seconds, and the count from which the next unit is used. */
const units: [Intl.RelativeTimeFormatUnit, size: number, limit: number][] = [
  ['minute', 60, 60],
  ['hour', 3600, 24],
  ['day', 86_400, 30],
  ['month', 2_592_000, 12],
  ['year', 31_536_000, Number.POSITIVE_INFINITY],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' })

/** A time such as “5 minutes ago”. Both times are in milliseconds. */
export function relativeTime(time: number, now: number): string {
  const seconds = (time - now) / 1000
  if (Math.abs(seconds) < 60) return seconds > 0 ? 'in a moment' : 'just now'
  // Rounded before the unit is chosen: 59.6 minutes are an hour, not 60 minutes.
  const rounded = units.map(([unit, size, limit]) => ({ unit, limit, count: Math.round(seconds / size) }))
  const fitting = rounded.find(({ count, limit }) => Math.abs(count) < limit)
  return fitting ? relative.format(fitting.count, fitting.unit) : ''
}
