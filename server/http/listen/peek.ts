// Distinguishes HTTP/2 from HTTP/1.1 by the first bytes of a connection, and puts these bytes back.
import type { Socket } from 'node:net'

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Calls `onDetected` with the socket paused. A connection that does not show its protocol in time is closed. */
export function peek(
  socket: Socket,
  timeoutMs: number,
  onDetected: (isHttp2: boolean, firstBytes: Buffer) => void,
): void {
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  let received: Buffer = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const compared = Math.min(received.length, preface.length)
    const isHttp2 = received.subarray(0, compared).equals(preface.subarray(0, compared))
    if (isHttp2 && compared < preface.length) return
    stopListening()
    socket.pause()
    socket.unshift(received)
    onDetected(isHttp2, received)
  }
  // Half-open connections are allowed, so the socket does not close by itself.
  const onEnd = () => socket.destroy()
  const stopListening = () => {
    clearTimeout(timer)
    socket.off('data', onData).off('end', onEnd).off('close', stopListening)
  }
  socket.on('data', onData).on('end', onEnd).on('close', stopListening)
}
