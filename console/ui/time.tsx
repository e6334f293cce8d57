// Relative times, with the exact time on hover.

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' })

export function relativeTime(time: number, now: number): string {
  const seconds = (time - now) / 1000
  const unit = units.find(([, size]) => Math.abs(seconds) >= size)
  return unit
    ? relative.format(Math.round(seconds / unit[1]), unit[0])
    : seconds > 0
      ? 'in a moment'
      : 'just now'
}

/** `isExact` shows the exact time as well, on pages that have room for it. */
export function Time({ at, isExact }: { at: string | undefined; isExact?: boolean }) {
  if (!at) return <span class="quiet">never</span>
  const time = new Date(at)
  // Build tools write the times in images, and may write invalid ones.
  if (Number.isNaN(time.getTime())) return <span class="quiet">unknown</span>
  return (
    <time dateTime={at} title={exact.format(time)}>
      {relativeTime(time.getTime(), Date.now())}
      {isExact && `, ${exact.format(time)}`}
    </time>
  )
}
