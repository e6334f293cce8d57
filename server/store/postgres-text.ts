// The text of a statement as PostgreSQL reads it, and under which name it is kept there.
import { createHash } from 'node:crypto'
import type { Template } from './statement/template.ts'

export type Prepared = { text: string; name?: string }

/** Every connection keeps each named statement with its plan for good, so they are few and not large. */
const mostNamed = 500
const mostValuesNamed = 200

const prepared = new WeakMap<Template, Prepared>()
const names = new Map<string, string>()

export function prepare(template: Template): Prepared {
  let statement = prepared.get(template)
  if (!statement) {
    const text = forPostgres(template.reduce((before, text, at) => `${before}$${at}${text}`))
    const name = template.length > mostValuesNamed ? undefined : nameOf(text)
    statement = name === undefined ? { text } : { text, name }
    prepared.set(template, statement)
  }
  return statement
}

function nameOf(text: string): string | undefined {
  let name = names.get(text)
  if (name === undefined && names.size < mostNamed) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 20)
    names.set(text, name)
  }
  return name
}

export const forPostgres = (text: string) => text.replaceAll(/\/\*pg (.*?)\*\//g, '$1')
