// Resources by their names: what a list with that name shows.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { commandOf, rowsField } from '../contract/commands.ts'
import { UsageError } from '../usage.ts'
import { nameFilterOf, parentOf, separatorOf } from './kinds.ts'

export type Found = { uid: string; name: string; description: string }

/** More than this is not told apart by looking. */
const most = 20

export async function find(connection: Connection, resource: string, filter: JsonObject): Promise<Found[]> {
  const command = commandOf(resource, 'list')
  const answer = await connection.call(command.method.desc, { pageSize: most, ...filter })
  const rows = (answer[rowsField(command)] ?? []) as JsonObject[]
  return rows.map(({ uid = '', name = '', description = '', artifactName = '' }) => ({
    uid: String(uid),
    name: String(name),
    description: String(description || artifactName),
  }))
}

/** A list with an empty name would show all there is. */
async function findByName(
  connection: Connection,
  resource: string,
  name: string,
  uidp: JsonObject = {},
): Promise<Found[]> {
  const filter = nameFilterOf(resource)
  if (name === '' || !filter) return []
  return find(connection, resource, { [filter.jsonName]: filter.fieldKind === 'list' ? [name] : name, uidp })
}

/**
 * `acme/team-a`: from the root down, or from a group whose name is seen anywhere if there is no such organization, as
 * for somebody who sees only a part of the tree. Siblings may share a name, so each step may find several.
 */
export async function findGroups(connection: Connection, path: string): Promise<Found[]> {
  const [first = '', ...rest] = path.split('/')
  const roots = await findByName(connection, 'groups', first, { inRoot: true })
  let found = roots.length > 0 ? roots : await findByName(connection, 'groups', first)
  for (const name of rest) {
    const below = few(found).map(({ uid }) => findByName(connection, 'groups', name, { childrenOf: uid }))
    found = (await Promise.all(below)).flat()
  }
  return found
}

/**
 * `ci` anywhere, unless there is one near, or `acme/team-a/ci` in that group. A repo may have slashes in its own name,
 * so all that a text can mean is found.
 */
export async function findNamed(
  connection: Connection,
  resource: string,
  text: string,
  near?: string,
): Promise<Found[]> {
  if (near !== undefined) {
    const here = await findByName(connection, resource, text, { childrenOf: near })
    if (here.length > 0) return here
  }
  const anywhere = await findByName(connection, resource, text)
  return [...anywhere, ...(await findBelow(connection, resource, text))]
}

async function findBelow(connection: Connection, resource: string, text: string): Promise<Found[]> {
  const separator = separatorOf(resource)
  const parent = parentOf(resource)
  const parts = text.split(separator)
  const found: Found[] = []
  for (let at = 1; at < parts.length; at++) {
    const [place, name] = [parts.slice(0, at).join(separator), parts.slice(at).join(separator)]
    const places =
      parent === 'groups' ? await findGroups(connection, place) : await findNamed(connection, parent, place)
    for (const { uid } of few(places))
      found.push(...(await findByName(connection, resource, name, { childrenOf: uid })))
  }
  return found
}

/** Each of them is looked into; one that was left out might be the one. */
function few(places: Found[]): Found[] {
  if (places.length < most) return places
  throw new UsageError(`${JSON.stringify(places[0]?.name)} means ${most} or more; say the place by its uid`)
}
