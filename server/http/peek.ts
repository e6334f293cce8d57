// Tells HTTP/2 from HTTP/1.1 by what a connection says first, and puts those bytes back for whoever takes over.
import type { Socket } from 'node:net'

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** `onKnown` gets a paused socket. A connection that does not show what it speaks in time is ended. */
export function peek(socket: Socket, patience: number, onKnown: (isHttp2: boolean) => void): void {
  const timer = setTimeout(() => socket.destroy(), patience)
  let seen: Buffer = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const compared = Math.min(seen.length, preface.length)
    const isHttp2 = seen.subarray(0, compared).equals(preface.subarray(0, compared))
    if (isHttp2 && compared < preface.length) return
    leave()
    socket.pause()
    socket.unshift(seen)
    onKnown(isHttp2)
  }
  // Connections may be half open, so this one has to be ended from here.
  const onEnd = () => socket.destroy()
  const leave = () => {
    clearTimeout(timer)
    socket.off('data', onData).off('end', onEnd).off('close', leave)
  }
  socket.on('data', onData).on('end', onEnd).on('close', leave)
}
