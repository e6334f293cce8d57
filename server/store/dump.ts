// The rows of a whole store, read in one snapshot.
import type { Row } from './sql.ts'

/** Some rows of a table. The portions of a table follow each other; an empty table has one, without rows. */
export type Portion = { table: string; columns: string[]; rows: Row[] }

const rowsPerPortion = 500
/** Characters of text and bytes. */
const sizePerPortion = 1024 * 1024

export function isFull(rows: readonly Row[]): boolean {
  if (rows.length >= rowsPerPortion) return true
  let size = 0
  for (const row of rows)
    for (const value of row)
      if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
  return size >= sizePerPortion
}
