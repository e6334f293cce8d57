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
  /** Counts a connection until it is closed. False if there are too many; it is not counted then. */
  admit(socket: Socket): boolean
}

export function openConnectionCounter({ perNetwork, total, isProxy }: CounterOptions): ConnectionCounter {
  const byNetwork = new Map<string, number>()
  let open = 0

  function add(network: string, change: number): void {
    open += change
    const count = (byNetwork.get(network) ?? 0) + change
    if (count > 0) byNetwork.set(network, count)
    else byNetwork.delete(network)
  }

  return {
    admit(socket) {
      const { remoteAddress: address = '' } = socket
      const network = networkOf(address)
      if (open >= total) return false
      if ((byNetwork.get(network) ?? 0) >= perNetwork && !isProxy(address)) return false
      add(network, 1)
      socket.once('close', () => add(network, -1))
      return true
    },
  }
}
