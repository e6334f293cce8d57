import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'

export type DroppingProxy = { url: string; dropped(): number; close(): void }

/**
 * Starts a proxy in front of a server. It drops the connections of the first `count` creates when the server responds:
 * the server has executed them, and their responses are lost.
 */
export async function startDroppingProxy(target: string, count: number): Promise<DroppingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let dropped = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    let isCreate = false
    client.on('data', (chunk) => {
      isCreate ||= chunk.toString('latin1').startsWith('POST ')
      upstream.write(chunk)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    upstream.on('data', (chunk) => {
      if (isCreate && dropped < count) {
        dropped++
        client.resetAndDestroy()
      } else client.write(chunk)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    dropped: () => dropped,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
