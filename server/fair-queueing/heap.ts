/** Items in the order of a number that does not change while they are in the heap. */
export type Heap<Item> = {
  add(item: Item): void
  /** Removes an item with the least number. */
  takeLeast(): Item | undefined
}

export function openHeap<Item>(numberOf: (item: Item) => number): Heap<Item> {
  /** The children of the item at `at` are at `2 * at + 1` and `2 * at + 2`; none has a smaller number. */
  const items: Item[] = []
  const numberAt = (at: number) => {
    const item = items[at]
    return item === undefined ? Number.POSITIVE_INFINITY : numberOf(item)
  }

  /** Puts an item at `at`, and moves it up until its parent is not larger. */
  function rise(item: Item, at: number): void {
    let place = at
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (numberAt(parent) <= numberOf(item)) break
      items[place] = items[parent] as Item // every parent exists
      place = parent
    }
    items[place] = item
  }

  /** Puts an item at the top, and moves it down until its children are not smaller. */
  function sink(item: Item): void {
    let place = 0
    for (;;) {
      const left = 2 * place + 1
      const child = numberAt(left + 1) < numberAt(left) ? left + 1 : left
      if (numberAt(child) >= numberOf(item)) break
      items[place] = items[child] as Item // its number is finite, so it exists
      place = child
    }
    items[place] = item
  }

  return {
    add: (item) => rise(item, items.length),
    takeLeast() {
      const [least] = items
      const last = items.pop()
      if (last !== undefined && items.length > 0) sink(last)
      return least
    },
  }
}
