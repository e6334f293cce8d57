// Completes names with list calls to the server.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { openConnection } from '../connection.ts'
import type { ContextFlags } from '../context.ts'
import { commandOf, rowsField } from '../contract/commands.ts'
import { camel } from '../contract/spelling.ts'
import { findGroups } from '../names/find.ts'
import { isNamed, namedResourceFor, nameFieldOf } from '../names/naming.ts'
import type { Runtime } from '../runtime.ts'
import type { Candidate } from './candidate.ts'

const timeoutMs = 2000
const maxCandidates = 200

/**
 * Suggests names of a resource. Returns nothing on any error, such as a missing sign-in: completion prints no errors.
 * An expired access token is not refreshed: a refresh can take longer than the timeout, and if it were interrupted, its
 * new tokens would be lost.
 */
export async function suggestNames(
  resource: string,
  word: string,
  server: ContextFlags,
  runtime: Runtime,
): Promise<Candidate[]> {
  try {
    const connection = await openConnection({ ...server, timeoutMs, isWithoutRefresh: true }, runtime)
    const namedResource = namedResourceFor(resource)
    return namedResource === 'groups'
      ? await groupPaths(connection, word)
      : await nameCandidates(connection, namedResource, word)
  } catch {
    return []
  }
}

/**
 * Suggests the next name of a path. If only one group fits, its children are suggested too: then the shell adds no space
 * after the name, and the path can be continued.
 */
async function groupPaths(connection: Connection, word: string): Promise<Candidate[]> {
  const prefix = word.slice(0, word.lastIndexOf('/') + 1)
  const start = word.slice(prefix.length)
  const groups = (await groupsBelow(connection, prefix, start)).filter(({ name }) =>
    String(name).startsWith(start),
  )
  const [only, ...others] = groups
  if (!only || others.length > 0) return candidatesOf(groups, prefix)
  const children = await childrenOf(connection, only.uid)
  return [...candidatesOf(groups, prefix), ...candidatesOf(children, `${prefix}${only.name}/`)]
}

/**
 * The children, with `start` in their names, of the group whose path is already typed. If none is typed: the
 * organizations, or all groups if the caller sees no organization.
 */
async function groupsBelow(connection: Connection, prefix: string, start: string): Promise<JsonObject[]> {
  const byName = nameContains('groups', start)
  if (prefix !== '') {
    const [parent] = await findGroups(connection, prefix.slice(0, -1))
    return parent ? childrenOf(connection, parent.uid, byName) : []
  }
  const organizations = await listRows(connection, 'groups', { uidp: { inRoot: true }, ...byName })
  if (organizations.length > 0) return organizations
  const others = await listRows(connection, 'groups', { uidp: { inRoot: true }, pageSize: 1 })
  return others.length > 0 ? [] : listRows(connection, 'groups', byName)
}

const childrenOf = (connection: Connection, uid: JsonValue | undefined, filter: JsonObject = {}) =>
  listRows(connection, 'groups', { uidp: { childrenOf: uid ?? '' }, ...filter })

async function nameCandidates(connection: Connection, resource: string, word: string): Promise<Candidate[]> {
  if (!isNamed(resource)) {
    const rows = await listRows(connection, resource, {})
    return rows.map(({ uid }) => ({ word: String(uid) }))
  }
  const rows = await listRows(connection, resource, nameContains(resource, word))
  return candidatesOf(rows, '', camel(nameFieldOf(resource)))
}

/** A filter by a part of the name, so that names after the first page are found. Empty if the list cannot filter. */
function nameContains(resource: string, text: string): JsonObject {
  const { fields } = commandOf(resource, 'list').method.desc.input
  const hasFilter = fields.some(({ jsonName }) => jsonName === 'nameContains')
  return hasFilter && text !== '' ? { nameContains: text } : {}
}

async function listRows(connection: Connection, resource: string, filter: JsonObject): Promise<JsonObject[]> {
  const command = commandOf(resource, 'list')
  const response = await connection.call(command.method.desc, { pageSize: maxCandidates, ...filter })
  return (response[rowsField(command)] ?? []) as JsonObject[]
}

function candidatesOf(rows: JsonObject[], prefix: string, nameField = 'name'): Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const { [nameField]: name = '', description = '' } of rows) {
    const word = prefix + String(name)
    if (!candidates.has(word)) candidates.set(word, { word, description: String(description) })
  }
  return [...candidates.values()].sort((a, b) => (a.word < b.word ? -1 : 1))
}
