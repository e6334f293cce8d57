// The content of an Sql value. Other rooms see only the opaque type: they must not import this
// folder (scripts/rooms.ts).
import type { Template } from './template.ts'
import { placeholderCount } from './template.ts'

export type Value = string | number | null | Uint8Array
export type Row = Value[]

declare const opaque: unique symbol

/** SQL text with values for its placeholders, complete or part of a larger statement. */
export type Sql = { readonly [opaque]: 'sql' }

/** The position of a value that is passed later, see `prepared` in prepared.ts. */
export type Placeholder = { readonly [opaque]: 'placeholder' }

export type Statement = {
  readonly template: Template
  readonly values: readonly Value[]
  /**
   * The rows of a bulk insert. The engine replaces the template's only placeholder by one or more tuples `(?, …)`.
   */
  readonly rows?: readonly (readonly Value[])[]
  /** Only for an insert, see `deferrable` in sql.ts. */
  readonly deferral?: Deferral
  /** The statements of a batch (together.ts), which has no text of its own. */
  readonly batch?: readonly Sql[]
}

/**
 * The engine may insert the rows later in the transaction. If the statement is not a bulk insert,
 * `tuple` is its part `values (…)`. SQLite runs this part alone, and it returns the row to insert.
 */
export type Deferral = { readonly tuple?: Template }

export const contentOf = (statement: Sql): Statement => statement as unknown as Statement // see toSql

const toSql = (statement: Statement) => statement as unknown as Sql

export const isSql = (part: unknown): part is Sql =>
  typeof part === 'object' && part !== null && 'template' in part

/** Makes a statement. Every statement is made here or by `fillRows`, so none has too few or too many values. */
export function fill(template: Template, values: readonly (Value | Placeholder)[]): Sql {
  if (values.length !== placeholderCount(template)) throw mismatch(placeholderCount(template), values.length)
  return toSql({ template, values: values as readonly Value[] }) // placeholders are replaced by `prepared`
}

/** Makes a bulk insert. */
export function fillRows(template: Template, rows: readonly (readonly Value[])[]): Sql {
  if (placeholderCount(template) !== 1) throw mismatch(placeholderCount(template), 1)
  const [first = []] = rows
  const different = rows.find((row) => row.length !== first.length)
  if (different) throw mismatch(first.length, different.length)
  return toSql({ template, values: noValues, rows })
}

/** Marks an insert as deferrable. */
export const withDeferral = (statement: Sql, deferral: Deferral): Sql =>
  toSql({ ...contentOf(statement), deferral })

/** Statements to run one after the other, in one round trip. */
export const batchOf = (batch: readonly Sql[]): Sql => toSql({ template: noText, values: noValues, batch })

const noText: Template = Object.freeze([''])

export const noValues: readonly Value[] = Object.freeze([])

const mismatch = (placeholders: number, values: number) =>
  new Error(`the number of placeholders is ${placeholders}, but the number of values is ${values}`)
