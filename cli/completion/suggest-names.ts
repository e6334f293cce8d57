// Names from the server, while somebody waits with a finger on the tab key.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import type { ContextFlags } from '../context.ts'
import { commandOf, rowsField } from '../contract/commands.ts'
import { camel } from '../contract/spelling.ts'
import { findGroups } from '../names/find.ts'
import { isNamed, namedLike, nameFieldOf } from '../names/kinds.ts'
import { openSession } from '../session.ts'

/** In milliseconds. */
const patience = 2000
const most = 200

type Suggested = { word: string; about?: string }

/** Nothing, if it takes too long, nobody is signed in, or anything else is amiss: completion must not get in the way. */
export async function suggestNames(
  resource: string,
  current: string,
  server: ContextFlags | JsonObject,
  env: NodeJS.ProcessEnv,
): Promise<Suggested[]> {
  try {
    const connection = await openSession({ ...(server as ContextFlags), timeout: patience }, env)
    const kind = namedLike(resource)
    return kind === 'groups' ? await groupPaths(connection, current) : await names(connection, kind)
  } catch {
    return []
  }
}

/** A path grows by one name at a time: what lies below the part that is written already. */
async function groupPaths(connection: Connection, current: string): Promise<Suggested[]> {
  const above = current.slice(0, current.lastIndexOf('/') + 1)
  if (above === '') {
    const roots = await rowsOf(connection, 'groups', { uidp: { inRoot: true } })
    return wordsOf(roots.length > 0 ? roots : await rowsOf(connection, 'groups', {}), '')
  }
  const [place] = await findGroups(connection, above.slice(0, -1))
  return place ? wordsOf(await rowsOf(connection, 'groups', { uidp: { childrenOf: place.uid } }), above) : []
}

async function names(connection: Connection, kind: string): Promise<Suggested[]> {
  const rows = await rowsOf(connection, kind, {})
  const nameField = camel(nameFieldOf(kind))
  return isNamed(kind) ? wordsOf(rows, '', nameField) : rows.map(({ uid }) => ({ word: String(uid) }))
}

async function rowsOf(connection: Connection, resource: string, filter: JsonObject): Promise<JsonObject[]> {
  const command = commandOf(resource, 'list')
  const answer = await connection.call(command.method.desc, { pageSize: most, ...filter })
  return (answer[rowsField(command)] ?? []) as JsonObject[]
}

function wordsOf(rows: JsonObject[], prefix: string, nameField = 'name'): Suggested[] {
  const words = new Map<string, Suggested>()
  for (const { [nameField]: name = '', description = '' } of rows) {
    const word = prefix + String(name)
    if (!words.has(word)) words.set(word, { word, about: String(description) })
  }
  return [...words.values()].sort((a, b) => (a.word < b.word ? -1 : 1))
}
