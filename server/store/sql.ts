// SQL as values: text with placeholders, so that nothing a caller sends becomes part of the text. Both engines run
// the same text. Text for PostgreSQL only is in a comment that starts with `pg`: SQLite skips the comment, and the
// PostgreSQL driver removes its delimiters. If the comment ends with `--`, PostgreSQL skips the rest of the line.
import type { Placeholder, Sql, Value } from './statement/statement.ts'
import { contentOf, fill, fillRows, isSql, noValues, withDeferral } from './statement/statement.ts'
import type { Template } from './statement/template.ts'
import { placeholderTemplate } from './statement/template.ts'
import { composeCached, nodeOf } from './statement/template-cache.ts'

export type { Placeholders } from './statement/prepared.ts'
export { prepared, preparedByKeys } from './statement/prepared.ts'
export type { Placeholder, Row, Sql, Value } from './statement/statement.ts'

/** sql`select a from t where b = ${value}`; other Sql can be nested. */
export function sql(strings: TemplateStringsArray, ...parts: (Value | Placeholder | Sql)[]): Sql {
  // Without nested SQL, the array of strings is the template: JavaScript passes the same array each time it evaluates
  // the same template literal.
  if (!parts.some(isSql)) return fill(strings, parts as Value[])
  const values: Value[] = []
  const fragments = parts.map((part) => {
    if (!isSql(part)) {
      values.push(part as Value)
      return placeholderTemplate
    }
    const content = contentOf(part)
    for (const value of content.values) values.push(value)
    return content.template
  })
  return fill(
    composeCached(strings, fragments, () => strings),
    values,
  )
}

/** Text that the program itself wrote, such as the name of a column. */
export const raw = (text: string): Sql =>
  fill(
    composeCached(text, [], () => [text]),
    noValues,
  )

export function join(parts: readonly Sql[], separator: string): Sql {
  const [only] = parts
  if (only && parts.length === 1) return only
  const contents = parts.map(contentOf)
  const text = () => ['', ...parts.slice(1).map(() => separator), '']
  const fragments = contents.map(({ template }) => template)
  return fill(
    composeCached(joinKey(separator), fragments, text),
    contents.flatMap(({ values }) => values),
  )
}

/** Differs from the key of `raw` with the same text, since no SQL text contains NUL. */
const joinKey = (separator: string) => `\0${separator}`

/** `(?, ?, ?)` */
export function tuple(values: readonly (Value | Placeholder)[]): Sql {
  if (values.length === 0) throw new Error('a list of values in SQL cannot be empty')
  return fill(tupleTemplate(values.length), values)
}

/** One cached template for each length. There are few lengths, because `among` rounds up to a power of two. */
function tupleTemplate(length: number): Template {
  const node = nodeOf(length)
  node.template ??= Object.freeze(['(', ...Array<string>(length - 1).fill(', '), ')'])
  return node.template
}

/**
 * A list for `in`, which must not be empty. The last value is repeated until the length is a power of two, so that
 * lists of many lengths result in few different statements.
 */
export function among(values: readonly Value[]): Sql {
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return tuple(Array.from({ length }, (_, at) => values[Math.min(at, values.length - 1)] ?? null))
}

/**
 * `insert into t (a, b) values …` for any number of rows. `into` and `suffix` (`on conflict …`) contain no values. The
 * engine decides how many rows it inserts with one statement.
 */
export function bulkInsert(into: Sql, rows: readonly (readonly Value[])[], suffix: Sql = raw('')): Sql {
  return fillRows(contentOf(sql`${into} values ${null} ${suffix}`).template, rows)
}

/**
 * Inserts rows that no other statement of the transaction reads, so the engine may insert them
 * later: SQLite before the commit, PostgreSQL with the next statement. `rows` are the values, or an
 * expression `values (…)`, whose subqueries do not see the changes of later statements. Use it only
 * for the event log: SQLite inserts all deferred rows into that table.
 */
export function deferrable(into: Sql, rows: readonly (readonly Value[])[] | Sql): Sql {
  if (!isSql(rows)) return withDeferral(bulkInsert(into, rows), {})
  return withDeferral(sql`${into} ${rows}`, { tuple: contentOf(rows).template })
}
