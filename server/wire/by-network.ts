// Items of clients, such as open connections, as a tree of networks: wide networks contain middle ones, these contain
// narrow ones, and these contain items. One customer of a provider may have thousands of narrow networks, but few wide
// ones.
import type { Networks } from './client-network.ts'
import type { Ranking } from './ranking.ts'
import { openRanking } from './ranking.ts'

type OfNetwork = { networks: Networks }

export type ByNetwork<Item extends OfNetwork> = {
  /** How many items the narrow network has. */
  count(networks: Networks): number
  add(item: Item): void
  /** Returns false if the item was removed before. */
  remove(item: Item): boolean
  /**
   * Removes the next item. Wide networks take turns, in each of them its middle networks, and in each of these its
   * narrow networks. So a client that uses more networks of one provider does not get more turns.
   */
  takeNext(): Item | undefined
  /**
   * Returns the item to remove so that a new one from `networks` can be added: the oldest item of the largest network.
   * Returns undefined, so that the new one is refused, if this network would then have fewer items than the network of
   * the new one.
   *
   * Wide networks are compared first. If none is large enough, the middle networks in the wide network of the new item
   * are compared, and then the narrow networks in its middle network. So a client that uses more networks does not get
   * more items.
   */
  findReplaceable(networks: Networks): Item | undefined
  /**
   * The same for a new item that is not added here. Its own network has `ownCount` items, and is
   * compared with the wide networks.
   */
  findReplaceableFor(ownCount: number): Item | undefined
}

type Network<Item> = {
  count: number
  /** The part whose turn is next is the first. */
  parts: Map<string, Network<Item>>
  partsByCount: Ranking<Network<Item>>
  /** Oldest first. Empty except in narrow networks. */
  items: Set<Item>
}

const openNetwork = <Item>(): Network<Item> => ({
  count: 0,
  parts: new Map(),
  partsByCount: openRanking(),
  items: new Set(),
})

export function openByNetwork<Item extends OfNetwork>(): ByNetwork<Item> {
  const all = openNetwork<Item>()

  const narrowOf = ([wide, middle, narrow]: Networks) =>
    all.parts.get(wide)?.parts.get(middle)?.parts.get(narrow)

  function remove(item: Item): boolean {
    if (!narrowOf(item.networks)?.items.delete(item)) return false
    let network: Network<Item> | undefined = all
    for (const name of item.networks) network = network && shrink(network, name)
    return true
  }

  return {
    count: (networks) => narrowOf(networks)?.count ?? 0,
    add(item) {
      let network = all
      for (const name of item.networks) network = grow(network, name)
      network.items.add(item)
    },
    remove,
    takeNext() {
      const next = nextOf(all)
      if (next) remove(next)
      return next
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
    findReplaceableFor(ownCount) {
      const larger = largerPart(all, ownCount)
      return larger && oldestOf(larger)
    },
  }
}

/** Adds one to the items of a part of the network, and returns the part. */
function grow<Item>({ parts, partsByCount }: Network<Item>, name: string): Network<Item> {
  const part = parts.get(name) ?? openNetwork<Item>()
  parts.set(name, part)
  partsByCount.resize(part, part.count, ++part.count)
  return part
}

/** Subtracts one from the items of a part, and returns the part. A part without items is removed. */
function shrink<Item>({ parts, partsByCount }: Network<Item>, name: string): Network<Item> | undefined {
  const part = parts.get(name)
  if (!part) return undefined
  partsByCount.resize(part, part.count, --part.count)
  if (part.count === 0) parts.delete(name)
  return part
}

/** The oldest item of the narrow network whose turn is next. Its networks become the last ones in turn. */
function nextOf<Item>({ parts, items }: Network<Item>): Item | undefined {
  const [firstPart] = parts
  if (!firstPart) {
    const [oldest] = items
    return oldest
  }
  const [name, part] = firstPart
  parts.delete(name)
  parts.set(name, part)
  return nextOf(part)
}

/**
 * The part with the most items, if it has at least two more than `ownCount`, the number of items in the network of the
 * new item. After the part has lost one and that network has gained one, the part is still not smaller.
 */
function largerPart<Item>({ partsByCount }: Network<Item>, ownCount: number): Network<Item> | undefined {
  const largest = partsByCount.largest()
  return largest && largest.count > ownCount + 1 ? largest : undefined
}

/** The oldest item of a narrow network; for other networks, the oldest item of their largest part. */
function oldestOf<Item>(network: Network<Item>): Item | undefined {
  const largest = network.partsByCount.largest()
  if (largest) return oldestOf(largest)
  const [oldest] = network.items
  return oldest
}
