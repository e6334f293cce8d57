// Limits the open connections of one network and in total. Each takes memory, whatever its client does with it.
import type { Socket } from 'node:net'
import { networkOf } from '../../wire/client-network.ts'

export type ConnectionLimits = {
  /** From one network. Does not apply to trusted proxies, which carry the calls of many clients. */
  perNetwork: number
  total: number
}

export type CounterOptions = ConnectionLimits & { isProxy(address: string): boolean }

export type ConnectionCounter = {
  /** Counts a connection until it is closed. Returns false, and does not count the connection, if there are too many. */
  admit(socket: Socket): boolean
}

type Network = { sockets: Set<Socket>; isProxy: boolean }

export function openConnectionCounter({ perNetwork, total, isProxy }: CounterOptions): ConnectionCounter {
  const networks = new Map<string, Network>()
  let open = 0

  function add(name: string, network: Network, socket: Socket): void {
    networks.set(name, network)
    network.sockets.add(socket)
    open++
    socket.once('close', () => remove(name, network, socket))
  }

  function remove(name: string, { sockets }: Network, socket: Socket): void {
    if (!sockets.delete(socket)) return
    open--
    if (sockets.size === 0) networks.delete(name)
  }

  /**
   * Closes the oldest connection of the network that has the most, so that a few networks with many connections each
   * cannot lock out all others. Returns false if no network has more connections than the network of the new connection
   * would have.
   */
  function makeRoom(ownConnections: number): boolean {
    let [name, largest] = ['', undefined as Network | undefined]
    for (const entry of networks)
      if (!entry[1].isProxy && entry[1].sockets.size > (largest?.sockets.size ?? ownConnections + 1))
        [name, largest] = entry
    const [oldest] = largest?.sockets ?? []
    if (!largest || !oldest) return false
    remove(name, largest, oldest)
    oldest.destroy()
    return true
  }

  return {
    admit(socket) {
      const { remoteAddress: address = '' } = socket
      const name = networkOf(address)
      const network = networks.get(name) ?? { sockets: new Set(), isProxy: isProxy(address) }
      if (network.sockets.size >= perNetwork && !network.isProxy) return false
      if (open >= total && !makeRoom(network.sockets.size)) return false
      add(name, network, socket)
      return true
    },
  }
}
