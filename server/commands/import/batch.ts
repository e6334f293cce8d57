// Collects advisories until there are enough for one transaction.
import type { ImportRows } from '../../resources/vulnerabilities/advisories/import-rows.ts'

/** Larger batches write index pages less often, but make other writers wait longer for the transaction. */
const maxItems = 3000
const maxCharacters = 16 * 1024 * 1024

export type Batch = {
  /** Whether this item must go to a later batch. */
  isClosedTo(item: ImportRows): boolean
  add(item: ImportRows): void
  /** Removes and returns all items. */
  drain(): ImportRows[]
}

export function openBatch(): Batch {
  let bySource = new Map<string, ImportRows>()
  let characters = 0
  return {
    // If two items have the same source, the later item wins, so the earlier item must be written first.
    isClosedTo: ({ source }) =>
      bySource.size >= maxItems || characters >= maxCharacters || bySource.has(source),
    add(item) {
      bySource.set(item.source, item)
      characters += item.record.length
    },
    drain() {
      const items = [...bySource.values()]
      bySource = new Map()
      characters = 0
      return items
    },
  }
}
