// Limits the memory and work that one HTTP/2 connection may cause: the headers of its open calls, its unread replies,
// and calls that the client resets before they are answered (CVE-2023-44487) or whose headers are too large (HPACK
// bombs). An abusive connection is closed.
import type { Http2Session, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { StatusError } from '../../aip/errors.ts'
import { tooLarge } from '../../aip/errors.ts'
import {
  maxUnsentSmallReplyBytes as defaultMaxUnsentSmallReplyBytes,
  maxHeaderBytes,
} from '../listen/limits.ts'
import type { GuardedStream, SessionUsage } from './session-usage.ts'
import { headerSize, newUsage } from './session-usage.ts'
import { closeLargest } from './unread-replies.ts'

export type SessionGuardOptions = {
  /** Called with the address of a connection that is closed because its client abuses it. */
  onAbuse(address: string | undefined): void
  /** Connections of proxies carry the calls of many clients, and are not closed for abuse. */
  isProxy(address: string): boolean
  /** How long a connection may be without a call, in milliseconds. */
  connectionIdleMs?: number
  /** Maximum bytes of unsent small replies of all connections. Beyond it, the connections with the most are closed. */
  maxUnsentSmallReplyBytes?: number
  now(): number
}

export type SessionGuard = {
  /** Must be called for every session. */
  watch(session: Http2Session): void
  stop(): void
  /** Must be called for every stream that is handled. Returns the error with which the call is refused, if any. */
  open(stream: GuardedStream, rawHeaders: readonly string[]): StatusError | undefined
  /** Must be called when the stream is closed. */
  close(stream: GuardedStream): void
  /** Called for a stream that was reset before it could be handled. */
  onReset(stream: ServerHttp2Stream): void
  /** Adds penalty points for a call that exceeds a limit. */
  penalize(stream: GuardedStream, points: number): void
}

/** A connection with more penalty points is closed. */
const maxPoints = 200
const pointsOfReset = 1
/**
 * A call that ends unanswered counts as reset only if it was open for less time than this. After that, its client has
 * probably given up at its deadline. The number of open calls is limited, so such calls cannot flood the server.
 */
const quickResetMs = 1000
const pointsOfLargeHeaders = 50
/** For all open calls of a connection together. The headers of 100 calls with an access token take about 150 KiB. */
const maxOpenHeaderBytes = 512 * 1024
const checkIntervalMs = 1000
/** Longer than the pauses of clients that call now and then. */
const maxConnectionIdleMs = 15 * 60_000

export function openSessionGuard({
  onAbuse,
  isProxy,
  connectionIdleMs = maxConnectionIdleMs,
  maxUnsentSmallReplyBytes = defaultMaxUnsentSmallReplyBytes,
  now,
}: SessionGuardOptions): SessionGuard {
  const usages = new Map<Http2Session, SessionUsage>()

  const usageOf = (session: Http2Session) => usages.get(session) ?? newUsage(session, now())

  function addPoints(usage: SessionUsage, points: number): void {
    usage.points += points
    const { session } = usage
    if (usage.points <= maxPoints || session.destroyed) return
    const address = session.socket.remoteAddress
    if (address !== undefined && isProxy(address)) return
    onAbuse(address)
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  /**
   * Closes idle connections and those with the most unread replies, and adds points for streams that node:http2 did not
   * report. Their number follows from the highest stream id: a client numbers its streams 1, 3, 5 and so on.
   */
  function check(): void {
    const time = now()
    let unsentBytes = 0
    for (const usage of usages.values()) {
      const { lastProcStreamID = 0 } = usage.session.state
      const startedStreams = Math.ceil(lastProcStreamID / 2)
      addPoints(usage, Math.max(0, startedStreams - usage.streams) * pointsOfReset)
      usage.streams = startedStreams
      unsentBytes += usage.unsentBytes
      if (usage.openStreams === 0 && time - usage.usedAt >= connectionIdleMs) usage.session.close()
    }
    if (unsentBytes > maxUnsentSmallReplyBytes) closeLargest(usages.values(), maxUnsentSmallReplyBytes)
  }

  const interval = setInterval(check, checkIntervalMs).unref()
  return {
    stop: () => clearInterval(interval),
    watch(session) {
      usages.set(session, usageOf(session))
      session.once('close', () => usages.delete(session))
    },
    open(stream, rawHeaders) {
      const usage = usageOf(stream.session as Http2Session) // the stream is open
      stream.usage = usage
      usage.streams++
      usage.openStreams++
      stream.openedAt = now()
      stream.replyBytes = 0
      stream.unsentBytes = 0
      stream.headerBytes = headerSize(rawHeaders)
      usage.headerBytes += stream.headerBytes
      if (stream.headerBytes > maxHeaderBytes) {
        addPoints(usage, pointsOfLargeHeaders)
        return tooLarge(`the headers must be at most ${maxHeaderBytes} bytes`, 431)
      }
      if (usage.headerBytes > maxOpenHeaderBytes)
        return tooLarge(
          `the headers of the open calls of a connection must be at most ${maxOpenHeaderBytes} bytes`,
          431,
        )
      return undefined
    },
    close({ usage, headerBytes, unsentBytes, headersSent, openedAt }) {
      usage.headerBytes -= headerBytes
      usage.unsentBytes -= unsentBytes
      if (--usage.openStreams === 0) usage.usedAt = now()
      if (!headersSent && now() - openedAt < quickResetMs) addPoints(usage, pointsOfReset)
      else if (headersSent && usage.points > 0) usage.points--
    },
    onReset({ session }) {
      if (!session) return
      const usage = usageOf(session)
      usage.streams++
      addPoints(usage, pointsOfReset)
    },
    penalize: ({ usage }, points) => addPoints(usage, points),
  }
}
