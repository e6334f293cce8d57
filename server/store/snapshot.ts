// What a store holds at one moment, in portions.
import type { Row } from './sql.ts'

/** Rows of a table, all of which come one after the other; at least one for each table, should it be empty. */
export type Portion = { table: string; columns: string[]; rows: Row[] }

const mostRows = 500
const mostSize = 1024 * 1024

/** Whether there are enough rows for a portion. */
export function isFull(rows: readonly Row[]): boolean {
  if (rows.length >= mostRows) return true
  let size = 0
  for (const row of rows)
    for (const value of row)
      if (typeof value === 'string' || value instanceof Uint8Array) size += value.length
  return size >= mostSize
}
