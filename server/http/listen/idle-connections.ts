// Closes HTTP/1.1 connections without traffic. Connections are checked at intervals: the idle timeouts
// of node:http, which are turned off, would start and stop two timers for each request. A connection
// with unsent bytes is never idle: slow-readers.ts closes it if its client reads too slowly.
import type { Socket } from 'node:net'

export type IdleConnectionOptions = {
  /** How long a connection may have no traffic while no request is being answered. */
  keepAliveMs: number
  /** How long a connection may have no traffic while a request is being answered. */
  idleMs: number
  now(): number
}

export type IdleConnections<S extends WatchedSocket> = {
  /** Must be called for every connection. */
  watch(socket: S): void
  check(): void
}

/** The part of a socket that is needed here. */
export type WatchedSocket = Pick<Socket, 'bytesRead' | 'bytesWritten' | 'writableLength'> & {
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** `bytes` is the traffic in both directions until `since`; there was none after it, and nothing was unsent. */
type Traffic = { bytes: number; since: number }

/** `isAnswering` tells whether a connection has a request whose response is not complete. */
export function openIdleConnections<S extends WatchedSocket>(
  { keepAliveMs, idleMs, now }: IdleConnectionOptions,
  isAnswering: (socket: S) => boolean,
): IdleConnections<S> {
  const connections = new Map<S, Traffic>()

  function checkOne(socket: S, traffic: Traffic): void {
    const bytes = bytesOf(socket)
    // `bytesWritten` includes unsent bytes, so it does not change while a client reads one large response.
    if (bytes !== traffic.bytes || socket.writableLength > 0) {
      traffic.bytes = bytes
      traffic.since = now()
    } else if (now() - traffic.since >= (isAnswering(socket) ? idleMs : keepAliveMs)) socket.destroy()
  }

  return {
    watch(socket) {
      connections.set(socket, { bytes: bytesOf(socket), since: now() })
      socket.once('close', () => connections.delete(socket))
    },
    check() {
      for (const [socket, traffic] of connections) checkOne(socket, traffic)
    },
  }
}

const bytesOf = ({ bytesRead, bytesWritten }: WatchedSocket) => bytesRead + bytesWritten
