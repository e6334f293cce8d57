// Closes HTTP/1.1 connections whose clients read so slowly that their responses stay in memory. The
// idle timeout (idle-connections.ts) does not apply to connections with unsent bytes. Connections are
// checked at intervals, so that sending a response takes no extra work.
import type { Socket } from 'node:net'

export type SlowReaderOptions = {
  /** A client must read its unsent bytes within the time that they take at this rate, plus `graceMs`. */
  minBytesPerSecond: number
  graceMs: number
  /** Maximum unsent bytes of all connections together. Beyond it, the connections with the most are closed. */
  maxUnsentBytes: number
  now(): number
}

export type SlowReaders = {
  /** Must be called for every connection. */
  watch(socket: ReadingSocket): void
  check(): void
}

/** The part of a socket that is needed here. */
export type ReadingSocket = Pick<Socket, 'writableLength' | 'bytesWritten'> & {
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** The number of bytes that were sent over the connection must reach `bytes` by `deadline`. */
type Goal = { bytes: number; deadline: number }

export function openSlowReaders(options: SlowReaderOptions): SlowReaders {
  const { minBytesPerSecond, graceMs, maxUnsentBytes, now } = options
  const connections = new Map<ReadingSocket, Goal | undefined>()

  const nextGoalOf = (socket: ReadingSocket): Goal => ({
    bytes: socket.bytesWritten,
    deadline: now() + graceMs + (socket.writableLength / minBytesPerSecond) * 1000,
  })

  function isTooSlow(socket: ReadingSocket, goal: Goal | undefined): boolean {
    const { writableLength: unsent } = socket
    if (unsent === 0) {
      if (goal) connections.set(socket, undefined)
    } else if (!goal || socket.bytesWritten - unsent >= goal.bytes) {
      connections.set(socket, nextGoalOf(socket))
    } else return now() > goal.deadline
    return false
  }

  /** Stops counting the connection at once, without waiting for the event `close`. */
  function close(socket: ReadingSocket): void {
    connections.delete(socket)
    socket.destroy()
  }

  /** Enforces `maxUnsentBytes`. A client that is slow through no fault of its own has few unsent bytes. */
  function closeLargest(): void {
    let unsent = 0
    for (const socket of connections.keys()) unsent += socket.writableLength
    if (unsent <= maxUnsentBytes) return
    const bySize = [...connections.keys()].sort((a, b) => b.writableLength - a.writableLength)
    for (const socket of bySize) {
      if (unsent <= maxUnsentBytes) return
      unsent -= socket.writableLength
      close(socket)
    }
  }

  return {
    watch(socket) {
      connections.set(socket, undefined)
      socket.once('close', () => connections.delete(socket))
    },
    check() {
      for (const [socket, goal] of connections) if (isTooSlow(socket, goal)) close(socket)
      closeLargest()
    },
  }
}
