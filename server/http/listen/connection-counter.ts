// Limits the open connections of one network and in total. Each connection takes memory, even if it is idle.
import type { Socket } from 'node:net'
import { networksOf } from '../../wire/client-network.ts'
import type { Connection } from './connections-by-network.ts'
import { openConnectionsByNetwork } from './connections-by-network.ts'

export type ConnectionLimits = {
  /**
   * Maximum from one IPv4 address or IPv6 /64. Does not apply to trusted proxies, which forward the calls of many
   * clients.
   */
  perNetwork: number
  total: number
}

export type CounterOptions = ConnectionLimits & { isProxy(address: string): boolean }

export type ConnectionCounter = {
  /** Counts a connection until it is closed. Returns false, and does not count the connection, if there are too many. */
  admit(socket: Socket): boolean
}

export function openConnectionCounter({ perNetwork, total, isProxy }: CounterOptions): ConnectionCounter {
  const clients = openConnectionsByNetwork()
  const proxyCounts = new Map<string, number>()
  let open = 0

  /** If the total is reached, closes the connection that may be replaced. Returns false if there is none. */
  function makeRoom(find: () => Connection | undefined): boolean {
    if (open < total) return true
    const replaced = find()
    if (!replaced) return false
    forget(replaced)
    replaced.socket.destroy()
    return true
  }

  /** Called when a client's connection is replaced, and again when it is closed. */
  function forget(connection: Connection): void {
    if (clients.remove(connection)) open--
  }

  function admitClient(socket: Socket, address: string): boolean {
    const networks = networksOf(address)
    if (clients.count(networks) >= perNetwork) return false
    if (!makeRoom(() => clients.findReplaceable(networks))) return false
    const connection = { socket, networks }
    clients.add(connection)
    open++
    socket.once('close', () => forget(connection))
    return true
  }

  /** Connections of proxies are never replaced. */
  function admitProxy(socket: Socket, address: string): boolean {
    const count = proxyCounts.get(address) ?? 0
    if (!makeRoom(() => clients.findReplaceableFor(count))) return false
    proxyCounts.set(address, count + 1)
    open++
    socket.once('close', () => {
      open--
      const left = (proxyCounts.get(address) ?? 0) - 1
      if (left > 0) proxyCounts.set(address, left)
      else proxyCounts.delete(address)
    })
    return true
  }

  return {
    admit(socket) {
      const { remoteAddress: address = '' } = socket
      return isProxy(address) ? admitProxy(socket, address) : admitClient(socket, address)
    },
  }
}
