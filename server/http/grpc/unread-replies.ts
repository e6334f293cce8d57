// Closes the HTTP/2 connections whose clients leave the most reply bytes unread.
import { constants } from 'node:http2'
import type { SessionUsage } from './session-usage.ts'

/**
 * Closes connections until at most `maxBytes` are unsent, those with the most unsent bytes first. A client that is slow
 * through no fault of its own has few unsent bytes.
 */
export function closeLargest(usages: Iterable<SessionUsage>, maxBytes: number): void {
  const bySize = [...usages].sort((a, b) => b.unsentBytes - a.unsentBytes)
  let unsent = bySize.reduce((sum, { unsentBytes }) => sum + unsentBytes, 0)
  for (const { unsentBytes, session } of bySize) {
    if (unsent <= maxBytes) return
    unsent -= unsentBytes
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
}
