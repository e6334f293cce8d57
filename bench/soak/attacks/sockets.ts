import type { Socket } from 'node:net'
import { holdMs } from './attack.ts'

/** Resolves when the operating system has taken the bytes, or when the connection is closed. */
export const written = (socket: Socket, bytes: string | Uint8Array) =>
  new Promise<void>((resolve) => {
    if (socket.closed || socket.destroyed) return resolve()
    socket.once('close', resolve)
    socket.write(bytes, () => {
      socket.off('close', resolve)
      resolve()
    })
  })

/** Resolves when the connection is closed, which happens after `holdMs` at the latest. */
export const closed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    if (socket.closed) return resolve()
    const timer = setTimeout(() => socket.destroy(), holdMs)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })

export const httpGet = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
