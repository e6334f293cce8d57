// Completes names with list calls to the server.
import type { JsonObject } from '@bufbuild/protobuf'
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
 */
export async function suggestNames(
  resource: string,
  word: string,
  server: ContextFlags,
  runtime: Runtime,
): Promise<Candidate[]> {
  try {
    const connection = await openConnection({ ...server, timeoutMs }, runtime)
    const namedResource = namedResourceFor(resource)
    return namedResource === 'groups'
      ? await groupPaths(connection, word)
      : await nameCandidates(connection, namedResource)
  } catch {
    return []
  }
}

/** Suggests the next name of a path: the children of the group whose path is already typed. */
async function groupPaths(connection: Connection, word: string): Promise<Candidate[]> {
  const prefix = word.slice(0, word.lastIndexOf('/') + 1)
  if (prefix === '') {
    const organizations = await listRows(connection, 'groups', { uidp: { inRoot: true } })
    const groups = organizations.length > 0 ? organizations : await listRows(connection, 'groups', {})
    return candidatesOf(groups, '')
  }
  const [parent] = await findGroups(connection, prefix.slice(0, -1))
  if (!parent) return []
  return candidatesOf(await listRows(connection, 'groups', { uidp: { childrenOf: parent.uid } }), prefix)
}

async function nameCandidates(connection: Connection, resource: string): Promise<Candidate[]> {
  const rows = await listRows(connection, resource, {})
  if (!isNamed(resource)) return rows.map(({ uid }) => ({ word: String(uid) }))
  return candidatesOf(rows, '', camel(nameFieldOf(resource)))
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
