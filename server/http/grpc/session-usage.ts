// Counts the resources that the calls of one HTTP/2 connection use. session-guard.ts, request-bytes.ts and
// interceptor.ts limit them.
import type { Http2Session, ServerHttp2Stream } from 'node:http2'

/** A stream with the sizes of its headers and its reply, and the usage of its session. */
export type GuardedStream = ServerHttp2Stream & {
  usage: SessionUsage
  /** In milliseconds since 1970. */
  openedAt: number
  headerBytes: number
  replyBytes: number
  /** The size of a small reply, which is counted as unsent until the stream is closed; 0 for a large reply. */
  unsentBytes: number
}

/**
 * `points` are penalty points. session-guard.ts closes a session that has too many. Each call that
 * is answered subtracts one.
 */
export type SessionUsage = {
  session: Http2Session
  points: number
  /** Bytes of the headers of open calls. */
  headerBytes: number
  /** Bytes of small replies that the client has not read. */
  unsentBytes: number
  /** Bytes of the requests of open calls. A call is `trusted` if its access token is verified. */
  requestBytes: { anonymous: number; trusted: number }
  /**
   * Number of streams that were counted so far. Most are counted when node:http2 reports them. Streams with too many
   * headers, which it resets without reporting them, are counted later by the check in session-guard.ts.
   */
  streams: number
  openStreams: number
  /** Open streams of the standard services of gRPC (health and reflection). */
  standardStreams: number
  /** When the last call ended, in milliseconds since 1970. */
  usedAt: number
}

/** Bytes that are counted for each header in addition to its name and value (RFC 9113 section 6.5.2). */
const headerOverhead = 32

export const newUsage = (session: Http2Session, now: number): SessionUsage => ({
  session,
  points: 0,
  headerBytes: 0,
  unsentBytes: 0,
  requestBytes: { anonymous: 0, trusted: 0 },
  streams: 0,
  openStreams: 0,
  standardStreams: 0,
  usedAt: now,
})

export function headerSize(rawHeaders: readonly string[]): number {
  let bytes = rawHeaders.length * (headerOverhead / 2)
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/**
 * Must be called with every reply. `isBudgeted` is true for a large reply, which already counts against the budget of
 * its caller (server/rpc/unsent-budget.ts).
 */
export function countReply(stream: ServerHttp2Stream, bytes: number, isBudgeted: boolean): void {
  if (stream.destroyed) return
  const guarded = stream as GuardedStream // session-guard.ts prepares every stream
  guarded.replyBytes = bytes
  if (isBudgeted) return
  guarded.unsentBytes = bytes
  guarded.usage.unsentBytes += bytes
}
