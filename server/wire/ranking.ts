/** Items with a size. Every operation takes the same time, however many items there are. */
export type Ranking<Item> = {
  /** `oldSize` and `newSize` must differ by one. An item whose size is 0 is not in the ranking. */
  resize(item: Item, oldSize: number, newSize: number): void
  /** The item with the largest size: of several, the one that has had this size for the longest time. */
  largest(): Item | undefined
}

export function openRanking<Item>(): Ranking<Item> {
  const itemsBySize = new Map<number, Set<Item>>()
  let maxSize = 0

  function remove(item: Item, size: number): void {
    const items = itemsBySize.get(size)
    items?.delete(item)
    if (items?.size === 0) itemsBySize.delete(size)
  }

  function add(item: Item, size: number): void {
    const items = itemsBySize.get(size)
    if (items) items.add(item)
    else itemsBySize.set(size, new Set([item]))
  }

  return {
    resize(item, oldSize, newSize) {
      remove(item, oldSize)
      if (newSize > 0) add(item, newSize)
      // If no item has the old maximum any more, this item had it, and its new size is the maximum.
      if (newSize > maxSize || !itemsBySize.has(maxSize)) maxSize = newSize
    },
    largest() {
      const [item] = itemsBySize.get(maxSize) ?? []
      return item
    },
  }
}
