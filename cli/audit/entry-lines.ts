// An entry of the audit log as text for people: a first line, a line for each field that changed,
// then details.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { Code } from '@stemma/api'
import { kebab, singular, spaced } from '../contract/spelling.ts'
import { ageOf } from '../output/cells.ts'
import type { Screen } from '../output/screen.ts'
import { truncate } from '../output/text-width.ts'
import { singleLine } from '../single-line.ts'

export type AuditEntry = {
  time: string
  action: string
  method?: string
  code?: number
  actor?: Record<string, string>
  resource?: { uid?: string; kind?: string; name?: string }
  changes?: { path: string; before?: JsonValue; after?: JsonValue; truncated?: boolean; hidden?: boolean }[]
  details?: JsonObject
}

/** Longer values are cut off unless the output is wide. */
const maxValueWidth = 100

export function entryLines(entry: AuditEntry, isWide: boolean, showsAge: boolean, screen: Screen): string {
  const { time, action, resource = {}, actor = {}, changes = [], details } = entry
  const when = showsAge ? `${pastAgeOf(time, screen.now)} ago` : time
  const kind = spaced(singular(kebab(resource.kind ?? '')))
  const place = [kind, resource.name ? JSON.stringify(resource.name) : resource.uid]
  const what =
    entry.code && entry.method ? [action, methodText(entry.method), 'at', ...place] : [action, ...place]
  const head = [
    screen.dim(singleLine(when)),
    screen.bold(singleLine(what.filter(Boolean).join(' '))),
    singleLine(`by ${actor.name || actor.identity || actor.door || 'unknown'}`),
    ...(entry.code ? [singleLine(codeText(entry.code))] : []),
  ]
  const lines = changes.map((change) => `    ${changeText(change, isWide)}`)
  if (isWide) lines.push(...originLines(entry))
  if (details !== undefined) lines.push(`    ${shown(details, isWide)}`)
  return `${[head.join('  '), ...lines.map(singleLine)].join('\n')}\n`
}

/** The clock of the server may be ahead of that of this machine, so the time may seem to be in the future. */
const pastAgeOf = (time: string, now: number) => ageOf(time, Math.max(now, Date.parse(time)))

/** `platform.iam.v2beta1.GroupsService.CreateGroup` as `GroupsService.CreateGroup`. */
const methodText = (method: string) => method.split('.').slice(-2).join('.')

const codeText = (code: number) =>
  Object.entries(Code).find(([, value]) => value === code)?.[0] ?? `code ${code}`

function changeText(
  { path, before, after, truncated, hidden }: NonNullable<AuditEntry['changes']>[number],
  isWide: boolean,
): string {
  if (hidden) return `~ ${path}: changed, never shown`
  if (truncated) return `~ ${path}: changed, too long to show`
  if (before === undefined) return `+ ${path}: ${shown(after, isWide)}`
  if (after === undefined) return `- ${path}: ${shown(before, isWide)}`
  return `~ ${path}: ${shown(before, isWide)} → ${shown(after, isWide)}`
}

function shown(value: JsonValue | undefined, isWide: boolean): string {
  const text = JSON.stringify(value ?? null)
  return isWide ? text : truncate(text, maxValueWidth)
}

const originLines = ({ method, resource = {}, actor = {} }: AuditEntry): string[] => {
  const facts = {
    method,
    resource: resource.uid,
    actor: actor.identity,
    address: actor.address,
    'user agent': actor.userAgent,
    'request id': actor.requestId,
  }
  return Object.entries(facts).flatMap(([name, text]) => (text ? [`    ${name}: ${text}`] : []))
}
