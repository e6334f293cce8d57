// Finds resources by name, with list calls.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { commandOf, rowsField } from '../contract/commands.ts'
import { UsageError } from '../failure.ts'
import { nameFilterOf, parentOf, separatorOf } from './naming.ts'

export type Match = { uid: string; name: string; description: string }

/** If a name has this many matches, the user must give a uid. */
const maxMatches = 20

async function find(connection: Connection, resource: string, filter: JsonObject): Promise<Match[]> {
  const command = commandOf(resource, 'list')
  const response = await connection.call(command.method.desc, { pageSize: maxMatches, ...filter })
  const rows = (response[rowsField(command)] ?? []) as JsonObject[]
  return rows.map(({ uid = '', name = '', description = '', artifactName = '' }) => ({
    uid: String(uid),
    name: String(name),
    description: String(description || artifactName),
  }))
}

/** Returns nothing for an empty name, because an empty filter would match every resource. */
async function findByName(
  connection: Connection,
  resource: string,
  name: string,
  uidp: JsonObject = {},
): Promise<Match[]> {
  const filter = nameFilterOf(resource)
  if (name === '' || !filter) return []
  return find(connection, resource, { [filter.jsonName]: filter.fieldKind === 'list' ? [name] : name, uidp })
}

/**
 * Finds groups by path, such as `acme/team-a`. The path starts at an organization or, if the caller sees no
 * organization with that name, at any group. Groups in the same parent may have the same name, so each step may have
 * several matches.
 */
export async function findGroups(connection: Connection, path: string): Promise<Match[]> {
  const [first = '', ...rest] = path.split('/')
  const organizations = await findByName(connection, 'groups', first, { inRoot: true })
  let matches = organizations.length > 0 ? organizations : await findByName(connection, 'groups', first)
  for (const name of rest) {
    const children = requireFew(matches).map(({ uid }) =>
      findByName(connection, 'groups', name, { childrenOf: uid }),
    )
    matches = (await Promise.all(children)).flat()
  }
  return matches
}

/**
 * Finds resources by name (`ci`) or path (`acme/team-a/ci`). Matches in `preferredGroup` take precedence over others.
 * The name of a repo may contain slashes, so every split of the text into path and name is tried.
 */
export async function findNamed(
  connection: Connection,
  resource: string,
  text: string,
  preferredGroup?: string,
): Promise<Match[]> {
  if (preferredGroup !== undefined) {
    const preferred = await findByName(connection, resource, text, { childrenOf: preferredGroup })
    if (preferred.length > 0) return preferred
  }
  const byName = await findByName(connection, resource, text)
  return [...byName, ...(await findByPath(connection, resource, text))]
}

async function findByPath(connection: Connection, resource: string, text: string): Promise<Match[]> {
  const separator = separatorOf(resource)
  const parent = parentOf(resource)
  const parts = text.split(separator)
  const matches: Match[] = []
  for (let length = 1; length < parts.length; length++) {
    const path = parts.slice(0, length).join(separator)
    const name = parts.slice(length).join(separator)
    const parents =
      parent === 'groups' ? await findGroups(connection, path) : await findNamed(connection, parent, path)
    for (const { uid } of requireFew(parents))
      matches.push(...(await findByName(connection, resource, name, { childrenOf: uid })))
  }
  return matches
}

/** The next step searches below every match, so a list cut off at `maxMatches` could miss the right one. */
function requireFew(matches: Match[]): Match[] {
  if (matches.length < maxMatches) return matches
  throw new UsageError(
    `${JSON.stringify(matches[0]?.name)} has ${maxMatches} or more matches; use a uid instead`,
  )
}
