// The text of a statement as PostgreSQL reads it, and under which name it is kept there.
import { createHash } from 'node:crypto'

export type Prepared = { text: string; name?: string }

/** Every connection keeps each named statement with its plan for good, so they are few and not large. */
const mostNamed = 500
const mostValuesNamed = 200

const prepared = new Map<string, Prepared>()

export function prepare(pieces: readonly string[]): Prepared {
  const key = pieces.join('\0')
  const known = prepared.get(key)
  if (known) return known
  const text = forPostgres(pieces.reduce((before, piece, at) => `${before}$${at}${piece}`))
  if (prepared.size >= mostNamed || pieces.length > mostValuesNamed) return { text }
  const statement = { text, name: createHash('sha256').update(text).digest('base64url').slice(0, 20) }
  prepared.set(key, statement)
  return statement
}

export const forPostgres = (text: string) => text.replaceAll(/\/\*pg (.*?)\*\//g, '$1')
