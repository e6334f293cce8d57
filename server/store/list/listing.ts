// The input of a list, and the page that it returns.
import type { Sql, Value } from '../sql.ts'
import type { Form, Rendered } from '../table.ts'

/**
 * A part of the tree: the resource `uid` and everything below it (`tree`), the same without the resource (`below`), its
 * direct children (`children`), or the resource alone (`point`).
 */
export type Region = { kind: 'tree' | 'below' | 'children' | 'point'; uid: string }

/** A column to order by. */
export type Term = { column: string; descending: boolean }

export type Listing = {
  /** Disjoint, in order of their uids. */
  regions: readonly Region[]
  /** Further conditions. If there are any, the total is counted rather than read from the tally. */
  filters: readonly Sql[]
  /** Ends with the uid. */
  order: readonly Term[]
  /** The cursor: the values of the order's columns in the last row of the previous page. */
  after: readonly Value[] | undefined
  /** The number of rows to skip before the page. */
  skip: number
  /** The maximum number of rows in the page. */
  size: number
  form: Form
  /** If set, rows that have expired at this time are left out. Only for tables whose rows expire. */
  liveAt?: number
  /**
   * Whether to scan in the order of the list and test the filters row by row. Otherwise the engine may use an index on
   * the filtered column, and sort all of its matches for every page.
   */
  scansInOrder?: boolean
  /** If the list would read more rows than this, it fails with the error `expensive` before it reads any. */
  maxRows?: number
}

/** The JSON of all rows, separated by commas, and its length in bytes. */
export type JoinedRows = { text: string; size: number }

export type UncountedPage = {
  rows: Rendered[] | JoinedRows
  /** The cursor for the next page, if there is one. */
  next: Value[] | undefined
}

export type Page = UncountedPage & { total: number }
