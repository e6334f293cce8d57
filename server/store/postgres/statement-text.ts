// The text of statements for PostgreSQL, and the names under which connections store them as prepared statements.
import { createHash } from 'node:crypto'
import type { Template } from '../statement/template.ts'

export type NamedStatement = { text: string; name?: string }

/** Returns the statement to send for a template. It has a name if connections prepare it once and then reuse it. */
export type StatementTexts = (template: Template) => NamedStatement

/**
 * The maximum number of named statements; further statements are sent without a name. Names are never evicted, because a
 * connection keeps a named statement and its plan until the connection is closed.
 */
const nameLimit = 500
/** Statements with this many values or more are rare and large, so they get no name. */
const namedValueLimit = 200

export function openStatementTexts(): StatementTexts {
  const statements = new WeakMap<Template, NamedStatement>()
  const names = new Map<string, string>()

  function nameOf(text: string): string | undefined {
    let name = names.get(text)
    if (name === undefined && names.size < nameLimit) {
      name = createHash('sha256').update(text).digest('base64url').slice(0, 20)
      names.set(text, name)
    }
    return name
  }

  return (template) => {
    let statement = statements.get(template)
    if (!statement) {
      const text = forPostgres(template.reduce((before, piece, at) => `${before}$${at}${piece}`))
      const name = template.length > namedValueLimit ? undefined : nameOf(text)
      statement = name === undefined ? { text } : { text, name }
      statements.set(template, statement)
    }
    return statement
  }
}

/** Removes the delimiters of comments that contain SQL for PostgreSQL only (see sql.ts). */
export const forPostgres = (text: string) => text.replaceAll(/\/\*pg (.*?)\*\//g, '$1')
