// Statements as PostgreSQL reads them, and the names under which connections keep them prepared.
import { createHash } from 'node:crypto'
import type { Template } from '../statement/template.ts'

export type NamedStatement = { text: string; name?: string }

/** Returns the statement to send for a template. Each store has its own function. */
export type StatementTexts = (template: Template) => NamedStatement

/**
 * Every connection keeps a named statement and its plan until it closes, so names are never evicted as in a
 * cache: statements beyond this number are sent without a name.
 */
const nameLimit = 500
/** Statements with more values are rare and large, so they get no name. */
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

/** Removes the delimiters of comments that contain text for PostgreSQL, see sql.ts. */
export const forPostgres = (text: string) => text.replaceAll(/\/\*pg (.*?)\*\//g, '$1')
