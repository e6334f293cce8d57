// Counts the resources that the calls of one HTTP/2 connection use. session-guard.ts limits them.
import type { Http2Session, ServerHttp2Stream } from 'node:http2'

/** A stream with the sizes of its headers and its reply, and the usage of its session. */
export type GuardedStream = ServerHttp2Stream & {
  usage: SessionUsage
  headerBytes: number
  replyBytes: number
  /** Bytes of the reply that count as unsent. */
  unsentBytes: number
}

/** A session is abusive when its penalty `points` exceed `maxPoints`. Each call that is answered subtracts one. */
export type SessionUsage = {
  session: Http2Session
  points: number
  headerBytes: number
  /** Bytes of small replies that the client has not read. */
  unsentBytes: number
  /** Bytes of the requests of open calls. A call is `trusted` if its access token is verified. */
  requestBytes: { anonymous: number; trusted: number }
  /** Number of streams that node:http2 has reported. It resets streams with too many headers without reporting them. */
  streams: number
  openStreams: number
  /** Open streams of the standard services. */
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
