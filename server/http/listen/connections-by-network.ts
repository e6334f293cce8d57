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
   * Returns the connection to close so that a new one from `networks` can be accepted: the oldest connection of the
   * largest network. Returns undefined, so that the new one is refused, if this network would then have fewer
   * connections than the network of the new one.
   *
   * Wide networks are compared first. If none is large enough, the middle networks in the wide network of the new
   * connection are compared, and then the narrow networks in its middle network. So a client that uses more networks
   * does not get more connections.
   */
  findReplaceable(networks: Networks): Connection | undefined
  /** The same for a new connection of a proxy, which counts as a wide network with `proxyCount` connections. */
  findReplaceableForProxy(proxyCount: number): Connection | undefined
}

type Network = {
  count: number
  parts: Map<string, Network>
  partsByCount: Ranking<Network>
  /** Oldest first. Empty except in narrow networks. */
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
        const ownPart = network.parts.get(name)
        const larger = largerPart(network, ownPart?.count ?? 0)
        if (larger || !ownPart) return larger && oldestOf(larger)
        network = ownPart
      }
      return undefined
    },
    findReplaceableForProxy(proxyCount) {
      const larger = largerPart(all, proxyCount)
      return larger && oldestOf(larger)
    },
  }
}

/** Adds one to the connections of a part of the network, and returns the part. */
function grow({ parts, partsByCount }: Network, name: string): Network {
  const part = parts.get(name) ?? openNetwork()
  parts.set(name, part)
  partsByCount.resize(part, part.count, ++part.count)
  return part
}

/** Subtracts one from the connections of a part, and returns the part. A part without connections is removed. */
function shrink({ parts, partsByCount }: Network, name: string): Network | undefined {
  const part = parts.get(name)
  if (!part) return undefined
  partsByCount.resize(part, part.count, --part.count)
  if (part.count === 0) parts.delete(name)
  return part
}

/**
 * The part with the most connections, if it has at least two more than `ownCount`, the number of connections in the
 * network of the new connection. After the part has lost one and that network has gained one, the part is still not
 * smaller.
 */
function largerPart({ partsByCount }: Network, ownCount: number): Network | undefined {
  const largest = partsByCount.largest()
  return largest && largest.count > ownCount + 1 ? largest : undefined
}

/** The oldest connection of a narrow network; for other networks, the oldest connection of their largest part. */
function oldestOf(network: Network): Connection | undefined {
  const largest = network.partsByCount.largest()
  if (largest) return oldestOf(largest)
  const [oldest] = network.connections
  return oldest
}
