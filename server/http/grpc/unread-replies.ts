// Closes the connections that have the most unread replies.
import { constants } from 'node:http2'
import type { SessionUsage } from './session-usage.ts'

/** Until the unsent bytes are at most `maxBytes`. A client that is slow through no fault of its own has few. */
export function closeLargest(usages: Iterable<SessionUsage>, maxBytes: number): void {
  const bySize = [...usages].sort((a, b) => b.unsentBytes - a.unsentBytes)
  let unsent = bySize.reduce((sum, { unsentBytes }) => sum + unsentBytes, 0)
  for (const { unsentBytes, session } of bySize) {
    if (unsent <= maxBytes) return
    unsent -= unsentBytes
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
}
