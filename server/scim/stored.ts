// Users and groups in the store. `json` is the normalized resource without computed attributes.

import type { Row, Sql } from '../store/sql.ts'
import { among, raw, sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import { ScimError } from './errors.ts'
import { etagOf } from './etag.ts'
import { maxJsonBytes } from './limits.ts'
import { portions } from './portions.ts'
import type { Resource, ResourceType } from './schema/schema.ts'

export type StoredType = {
  type: ResourceType
  table: 'scim_users' | 'scim_groups'
  countColumn: 'user_count' | 'group_count'
  maxCount: number
  /**
   * For each indexed attribute, by its path in lower case: a function that returns the condition
   * that the attribute has this value.
   */
  keys: ReadonlyMap<string, (provider: string, value: string) => Sql>
  /** The attribute that lists the members of a group, or the groups of a user. */
  references: {
    name: 'members' | 'groups'
    /** The condition that a resource refers to the one with this uid. */
    condition(uid: string): Sql
    columns: ReferenceColumns
  }
}

/** Columns of `scim_members`: `own` is that of the resource itself, `other` that of the resources it refers to. */
export type ReferenceColumns = {
  own: 'group_uid' | 'user_uid'
  other: 'group_uid' | 'user_uid'
  /**
   * SQL for the JSON of the group whose name is shown (references.ts). Null for members, which are
   * shown without a name.
   */
  display: 'g.json' | 'null'
  /** The endpoint and the `type` of the references. */
  endpoint: string
  kind: string
}

/** The result of a change. `isChanged` is false if all values were the same before. */
export type Changed = { stored: Stored; isChanged: boolean }

/** Times are in milliseconds since 1970. */
export type Stored = {
  uid: string
  createTime: number
  updateTime: number
  version: number
  resource: Resource
}

const columns = raw('uid, create_time, update_time, version, json')

export function storedOf(row: Row): Stored {
  const [uid, createTime, updateTime, version, json] = row as [string, number, number, number, string]
  return { uid, createTime, updateTime, version, resource: JSON.parse(json) as Resource }
}

/** Characters of the JSON of a row, without parsing it. */
export const jsonLengthOf = (row: Row): number => (row[4] as string).length

export const selectWhere = ({ table }: StoredType, condition: Sql): Sql =>
  sql`select ${columns} from ${raw(table)} where ${condition}`

/** The id in SCIM is the last segment of the uid. */
export const idOf = (uid: string) => uid.slice(uid.lastIndexOf('/') + 1)

export const isId = (id: string) => /^[0-9a-f]{16}$/.test(id)

export function* findStored(stored: StoredType, provider: string, id: string): Work<Stored | undefined> {
  if (!isId(id)) return undefined
  const row = yield* first(selectWhere(stored, sql`uid = ${`${provider}/${id}`}`))
  return row && storedOf(row)
}

/** Locks the settings of a provider, so that its changes run one after the other, and counts a new resource. */
export function* countNew(stored: StoredType, provider: string, json: string): Work<void> {
  const { countColumn, maxCount, type } = stored
  const column = raw(countColumn)
  const row = yield* first(sql`update scim_settings
    set ${column} = ${column} + 1, json_bytes = json_bytes + ${Buffer.byteLength(json)}
    where provider = ${provider} returning ${column}, json_bytes`)
  const [count = 0, bytes = 0] = (row ?? []) as number[]
  if (count > maxCount)
    throw new ScimError(
      403,
      `an identity provider can have at most ${maxCount} resources of type ${type.name}`,
    )
  requireSmall(bytes)
}

/** Counts the bytes of a resource that has changed. */
export function* countChange(provider: string, before: Resource, json: string): Work<void> {
  const growth = Buffer.byteLength(json) - bytesOf(before)
  if (growth === 0) return
  const row = yield* first(sql`update scim_settings set json_bytes = json_bytes + ${growth}
    where provider = ${provider} returning json_bytes`)
  if (growth > 0) requireSmall((row?.[0] ?? 0) as number)
}

export function* countDeleted({ countColumn }: StoredType, provider: string, resource: Resource): Work<void> {
  const column = raw(countColumn)
  yield sql`update scim_settings set ${column} = ${column} - 1, json_bytes = json_bytes - ${bytesOf(resource)}
    where provider = ${provider}`
}

/** Bytes of the JSON of a stored resource. */
const bytesOf = (resource: Resource): number => Buffer.byteLength(JSON.stringify(resource))

function requireSmall(bytes: number): void {
  if (bytes > maxJsonBytes)
    throw new ScimError(
      403,
      `the users and groups of an identity provider can have at most ${maxJsonBytes} bytes together`,
    )
}

/** Raises the versions of resources that lost members or memberships. */
export function* raiseVersions({ table }: StoredType, uids: readonly string[], now: number): Work<void> {
  for (const some of portions(uids))
    yield sql`update ${raw(table)} set version = version + 1,
      update_time = case when update_time < ${now} then ${now} else update_time + 1 end where uid in ${among(some)}`
}

/** Locks the settings of a provider, so that its changes run one after the other. */
export function* lockProvider(provider: string): Work<void> {
  yield sql`select provider from scim_settings where provider = ${provider} /*pg for update */`
}

/** The resource as clients see it, with its computed attributes. `base` is the URL of the provider's endpoints. */
export function represent(
  { schema, extensions, name, endpoint }: ResourceType,
  base: string,
  { uid, createTime, updateTime, version, resource }: Stored,
): Resource {
  const present = extensions.filter(({ id }) => resource[id] !== undefined)
  return {
    schemas: [schema.id, ...present.map(({ id }) => id)],
    id: idOf(uid),
    ...resource,
    meta: {
      resourceType: name,
      created: new Date(createTime).toISOString(),
      lastModified: new Date(updateTime).toISOString(),
      location: `${base}/${endpoint}/${idOf(uid)}`,
      version: etagOf(version),
    },
  }
}
