// The rows of a whole store, read in one snapshot.
import type { Row } from './sql.ts'

/** Some rows of a table. The portions of a table follow each other; an empty table has one, without rows. */
export type Portion = { table: string; columns: string[]; rows: Row[] }

const rowsPerPortion = 500
/** In characters of text values plus bytes of binary values. */
const sizePerPortion = 1024 * 1024

/** Collects the rows of the next portion. Each row is measured once, when it is added. */
export function openRowCollector() {
  let rows: Row[] = []
  let size = 0
  return {
    add(row: Row): void {
      rows.push(row)
      size += sizeOf(row)
    },
    isFull: () => rows.length >= rowsPerPortion || size >= sizePerPortion,
    /** Removes and returns all rows. */
    drain(): Row[] {
      const drained = rows
      rows = []
      size = 0
      return drained
    },
  }
}

function sizeOf(row: Row): number {
  let size = 0
  for (const value of row) if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
  return size
}
