import type { Region, Selection } from './region-sql.ts'
import type { Value } from './sql.ts'
import type { Form, Rendered } from './table.ts'

/** The JSON of all rows with commas between them, and its length in bytes. */
export type Joined = { text: string; size: number }

/** With filters, totals are counted rather than read from the tally. */
export type Listing = Selection & {
  /** Disjoint, in order of their uids. */
  regions: readonly Region[]
  skip: number
  size: number
  form: Form
}

export type Run = {
  rows: Rendered[] | Joined
  /** Where the next page starts, if there is one. */
  next: Value[] | undefined
}

export type Page = Run & { total: number }
