// Limits the open connections of one network and in total. Each connection takes memory, even if it is idle.
import type { Socket } from 'node:net'
import { openByNetwork } from '../../wire/by-network.ts'
import type { Networks } from '../../wire/client-network.ts'
import { networksOf } from '../../wire/client-network.ts'

export type ConnectionLimits = {
  /**
   * Maximum number of connections from one IPv4 address or IPv6 /64. Does not apply to trusted proxies, which forward
   * the calls of many clients.
   */
  perNetwork: number
  /** Maximum number of connections of all clients and proxies. */
  total: number
}

export type CounterOptions = ConnectionLimits & { isProxy(address: string): boolean }

export type ConnectionCounter = {
  /** Counts a connection until it is closed. Returns false, and does not count the connection, if there are too many. */
  admit(socket: Socket): boolean
}

type Connection = { socket: Socket; networks: Networks }

export function openConnectionCounter({ perNetwork, total, isProxy }: CounterOptions): ConnectionCounter {
  const clients = openByNetwork<Connection>()
  const proxyCounts = new Map<string, number>()
  let openCount = 0

  /** If `total` connections are open, closes the one that `findReplaceable` returns. Returns false if there is none. */
  function makeRoom(findReplaceable: () => Connection | undefined): boolean {
    if (openCount < total) return true
    const replaced = findReplaceable()
    if (!replaced) return false
    forget(replaced)
    replaced.socket.destroy()
    return true
  }

  /** Called when a client's connection is replaced, and again when it is closed. */
  function forget(connection: Connection): void {
    if (clients.remove(connection)) openCount--
  }

  function admitClient(socket: Socket, address: string): boolean {
    const networks = networksOf(address)
    if (clients.count(networks) >= perNetwork) return false
    if (!makeRoom(() => clients.findReplaceable(networks))) return false
    const connection = { socket, networks }
    clients.add(connection)
    openCount++
    socket.once('close', () => forget(connection))
    return true
  }

  /** Connections of proxies are never replaced. */
  function admitProxy(socket: Socket, address: string): boolean {
    const count = proxyCounts.get(address) ?? 0
    if (!makeRoom(() => clients.findReplaceableFor(count))) return false
    proxyCounts.set(address, count + 1)
    openCount++
    socket.once('close', () => {
      openCount--
      const remaining = (proxyCounts.get(address) ?? 0) - 1
      if (remaining > 0) proxyCounts.set(address, remaining)
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
