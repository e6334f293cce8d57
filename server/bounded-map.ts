/**
 * A map that evicts its oldest entry when it is full. Each cache is created by the component that owns it, so its
 * lifetime and size are visible there.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #maxEntries: number
  readonly #onEvict: ((value: V) => void) | undefined

  /** `onEvict` is called with each value that is evicted, but not with those that are replaced or deleted. */
  constructor(maxEntries: number, onEvict?: (value: V) => void) {
    this.#maxEntries = maxEntries
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Adds an entry, or replaces one and makes it the newest. */
  set(key: K, value: V): void {
    this.#entries.delete(key)
    if (this.#entries.size >= this.#maxEntries) {
      for (const [oldest, evicted] of this.#entries) {
        this.#entries.delete(oldest)
        this.#onEvict?.(evicted)
        break
      }
    }
    this.#entries.set(key, value)
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  /** Returns the value of a key. If the key has no value, makes one and stores it. */
  getOrMake(key: K, make: () => V): V {
    let value = this.#entries.get(key)
    if (value === undefined) {
      value = make()
      this.set(key, value)
    }
    return value
  }

  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries()
  }

  values(): IterableIterator<V> {
    return this.#entries.values()
  }
}
