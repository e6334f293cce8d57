// Relative times, with the exact time on hover.
import { relativeTime } from './relative-time.ts'

const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' })

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
