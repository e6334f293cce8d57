// SQL as values: text with holes, so that nothing a caller sends is ever part of the text. Both engines get
// the same text; what only PostgreSQL should see stands in a comment that starts with `pg`, which SQLite
// skips and the PostgreSQL driver opens.

export type Value = string | number | null | Uint8Array
export type Row = Value[]

export type Sql = {
  /** The text around the holes: always one piece more than there are values. */
  readonly pieces: readonly string[]
  readonly values: readonly Value[]
  /** Of an insert, whose text ends with `values`: what goes into its table, one row after the other. */
  readonly rows?: readonly (readonly Value[])[]
}

export function sql(strings: TemplateStringsArray, ...parts: (Value | Sql)[]): Sql {
  // A template without nested SQL keeps the array of its call site, so that drivers can remember its text.
  if (!parts.some(isSql)) return { pieces: strings, values: parts as Value[] }
  const pieces = [strings[0] ?? '']
  const values: Value[] = []
  parts.forEach((part, at) => {
    if (isSql(part)) append(pieces, values, part)
    else {
      values.push(part)
      pieces.push('')
    }
    extend(pieces, strings[at + 1])
  })
  return { pieces, values }
}

/** Text that the program itself wrote, such as the name of a column. */
export const raw = (text: string): Sql => ({ pieces: [text], values: [] })

export function join(parts: readonly Sql[], separator: string): Sql {
  const pieces = ['']
  const values: Value[] = []
  parts.forEach((part, at) => {
    if (at > 0) extend(pieces, separator)
    append(pieces, values, part)
  })
  return { pieces, values }
}

/** `(?, ?, ?)` */
export const tuple = (values: readonly Value[]): Sql =>
  sql`(${join(
    values.map((value) => sql`${value}`),
    ', ',
  )})`

/**
 * A list for `in`, of any length but zero. The last value is repeated up to a power of two, so that lists of
 * all lengths make few different texts.
 */
export function among(values: readonly Value[]): Sql {
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return tuple(Array.from({ length }, (_, at) => values[Math.min(at, values.length - 1)] ?? null))
}

function append(pieces: string[], values: Value[], part: Sql): void {
  extend(pieces, part.pieces[0])
  for (let at = 1; at < part.pieces.length; at++) pieces.push(part.pieces[at] ?? '')
  values.push(...part.values)
}

function extend(pieces: string[], text = ''): void {
  pieces.push((pieces.pop() ?? '') + text)
}

const isSql = (part: Value | Sql): part is Sql =>
  typeof part === 'object' && part !== null && 'pieces' in part
