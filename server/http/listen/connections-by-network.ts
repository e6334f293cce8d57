// The open connections of clients as a tree of networks: wide networks contain middle ones, these contain narrow ones,
// and these contain connections. One customer of a provider may have thousands of narrow networks, but few wide ones.
import type { Socket } from 'node:net'
import type { Networks } from '../../wire/client-network.ts'
import type { Ranking } from './ranking.ts'
import { openRanking } from './ranking.ts'

export type Connection = { socket: Socket; networks: Networks }

export type ConnectionsByNetwork = {
  /** How many connections the narrow network has. */
  count(networks: Networks): number
  add(connection: Connection): void
  /** Returns false if the connection was removed before. */
  remove(connection: Connection): boolean
  /**
   * A connection to close in favour of a new one: the oldest of a network that would still have as many as the network
   * of the new connection. Wide networks are compared first. If none has enough, the middle networks in the wide network
   * of the new connection are compared, and then the narrow ones. So nobody gains a place by using more networks.
   */
  findReplaceable(networks: Networks): Connection | undefined
  /** The same for a proxy, which is in no network and has this many connections. */
  findReplaceableFor(proxyCount: number): Connection | undefined
}

type Network = {
  count: number
  parts: Map<string, Network>
  partsByCount: Ranking<Network>
  /** Only narrow networks have any. The oldest is the first. */
  connections: Set<Connection>
}

const openNetwork = (): Network => ({
  count: 0,
  parts: new Map(),
  partsByCount: openRanking(),
  connections: new Set(),
})

export function openConnectionsByNetwork(): ConnectionsByNetwork {
  const all = openNetwork()

  const narrowOf = ([wide, middle, narrow]: Networks) =>
    all.parts.get(wide)?.parts.get(middle)?.parts.get(narrow)

  return {
    count: (networks) => narrowOf(networks)?.count ?? 0,
    add(connection) {
      let network = all
      for (const name of connection.networks) network = grow(network, name)
      network.connections.add(connection)
    },
    remove(connection) {
      if (!narrowOf(connection.networks)?.connections.delete(connection)) return false
      let network: Network | undefined = all
      for (const name of connection.networks) network = network && shrink(network, name)
      return true
    },
    findReplaceable(networks) {
      let network = all
      for (const name of networks) {
        const own = network.parts.get(name)
        const larger = largerPart(network, own?.count ?? 0)
        if (larger || !own) return larger && oldestOf(larger)
        network = own
      }
      return undefined
    },
    findReplaceableFor(proxyCount) {
      const larger = largerPart(all, proxyCount)
      return larger && oldestOf(larger)
    },
  }
}

/** Counts one more connection of a part of the network, and returns the part. */
function grow({ parts, partsByCount }: Network, name: string): Network {
  const part = parts.get(name) ?? openNetwork()
  parts.set(name, part)
  partsByCount.move(part, part.count, ++part.count)
  return part
}

/** Counts one connection less. A part without connections is forgotten. */
function shrink({ parts, partsByCount }: Network, name: string): Network | undefined {
  const part = parts.get(name)
  if (!part) return undefined
  partsByCount.move(part, part.count, --part.count)
  if (part.count === 0) parts.delete(name)
  return part
}

/** The part with the most connections, if it would still have as many as the new connection's network after losing one. */
function largerPart({ partsByCount }: Network, ownCount: number): Network | undefined {
  const largest = partsByCount.largest()
  return largest && largest.count > ownCount + 1 ? largest : undefined
}

/** The oldest connection of the largest narrow network in the largest middle network, as far as these are inside. */
function oldestOf(network: Network): Connection | undefined {
  const largest = network.partsByCount.largest()
  if (largest) return oldestOf(largest)
  const [oldest] = network.connections
  return oldest
}
