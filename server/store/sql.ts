// SQL as values: text with holes, so that nothing a caller sends is ever part of the text. Both engines get
// the same text; what only PostgreSQL should see stands in a comment that starts with `pg`, which SQLite
// skips and the PostgreSQL driver opens.

import type { Pieces } from './pieces.ts'
import { hole, weave } from './pieces.ts'

export type Value = string | number | null | Uint8Array
export type Row = Value[]

export type Sql = {
  /** The text around the holes: always one piece more than there are values. */
  readonly pieces: Pieces
  readonly values: readonly Value[]
  /** Of an insert: what goes into its table, one row after the other, at the one hole of its text. */
  readonly rows?: readonly (readonly Value[])[]
}

export function sql(strings: TemplateStringsArray, ...parts: (Value | Sql)[]): Sql {
  // A template without nested SQL keeps the array of its call site.
  if (!parts.some(isSql)) return { pieces: strings, values: parts as Value[] }
  const values: Value[] = []
  const pieces = parts.map((part) => {
    if (!isSql(part)) {
      values.push(part)
      return hole
    }
    for (const value of part.values) values.push(value)
    return part.pieces
  })
  return { pieces: weave(strings, pieces, () => strings), values }
}

/** Text that the program itself wrote, such as the name of a column. */
export const raw = (text: string): Sql => ({ pieces: weave(text, [], () => [text]), values: nothing })

const nothing: readonly Value[] = []

export function join(parts: readonly Sql[], separator: string): Sql {
  const [only] = parts
  if (only && parts.length === 1) return only
  const pieces = parts.map((part) => part.pieces)
  const around = () => ['', ...parts.slice(1).map(() => separator), '']
  return { pieces: weave(siteOf(separator), pieces, around), values: parts.flatMap(({ values }) => values) }
}

/** Another than that of the same text taken alone: no text holds a NUL. */
const siteOf = (separator: string) => `\0${separator}`

const tuples = new Map<number, Pieces>()

/** An insert of many; its one hole is theirs. */
export const withRows = ({ pieces }: Sql, rows: readonly (readonly Value[])[]): Sql => ({
  pieces,
  values: nothing,
  rows,
})

/** `(?, ?, ?)` */
export function tuple(values: readonly Value[]): Sql {
  let pieces = tuples.get(values.length)
  if (!pieces) {
    pieces = Object.freeze(['(', ...values.slice(1).map(() => ', '), ')'])
    tuples.set(values.length, pieces)
  }
  return { pieces, values }
}

/**
 * A list for `in`, of any length but zero. The last value is repeated up to a power of two, so that lists of
 * all lengths make few different texts.
 */
export function among(values: readonly Value[]): Sql {
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return tuple(Array.from({ length }, (_, at) => values[Math.min(at, values.length - 1)] ?? null))
}

const isSql = (part: Value | Sql): part is Sql =>
  typeof part === 'object' && part !== null && 'pieces' in part
