// Commands for a shell, to copy.

/** The filters of a list by the names of the API, such as `nameContains`. Undefined, '' and false are left out. */
export type Filters = Record<string, string | boolean | undefined>

/** A command of `stemma` with a flag for each filter. */
export const commandOf = (command: string, filters: Filters) =>
  [
    command,
    ...entriesOf(filters, '-').map(([name, value]) => (value === true ? `--${name}` : flagOf(name, value))),
  ].join(' ')

/** The word of `stemma` for a value of an enum: `fix-not-planned` for `TYPE_FIX_NOT_PLANNED` with the prefix `TYPE_`. */
export const enumWord = (prefix: string, value: string | undefined) =>
  value?.replace(prefix, '').toLowerCase().replaceAll('_', '-')

/** A path of the REST API with a query parameter for each filter. */
export function pathOf(path: string, filters: Filters): string {
  const query = new URLSearchParams()
  for (const [name, value] of entriesOf(filters, '_')) query.set(name, String(value))
  return query.size > 0 ? `${path}?${query}` : path
}

const entriesOf = (filters: Filters, separator: string): [string, string | true][] =>
  Object.entries(filters).flatMap(([name, value]) =>
    value ? [[name.replaceAll(/[A-Z]/g, (letter) => separator + letter.toLowerCase()), value]] : [],
  )

/** After a space, a value that begins with a dash would be read as a flag. */
const flagOf = (name: string, value: string) =>
  `--${name}${value.startsWith('-') ? '=' : ' '}${isPlainWord.test(value) ? value : quote(value)}`

const isPlainWord = /^[\w./:-]+$/

/** A word as one would type it in a shell. */
export const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
