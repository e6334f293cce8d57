// Groups in the store. Their members are in a table of their own.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { conflict, invalidValue } from '../errors.ts'
import { maxGroups, maxResourceLength } from '../limits.ts'
import { groupType } from '../schema/group.ts'
import { requireValid } from '../schema/normalize.ts'
import type { Resource } from '../schema/schema.ts'
import type { StoredType } from '../stored.ts'
import { keyOf } from '../users/stored-users.ts'

const fold = (displayName: string) => displayName.toLowerCase()

export const storedGroups: StoredType = {
  type: groupType,
  table: 'scim_groups',
  countColumn: 'group_count',
  maxCount: maxGroups,
  keys: new Map([
    ['id', (provider: string, id: string) => sql`uid = ${`${provider}/${id}`}`],
    ['displayname', (_: string, name: string) => sql`display_name = ${fold(name)}`],
    ['externalid', (_: string, id: string) => sql`external_id = ${id}`],
  ]),
  references: {
    name: 'members',
    condition: (uid: string) => sql`uid in (select group_uid from scim_members where user_uid = ${uid})`,
    columns: {
      ...{ own: 'group_uid', other: 'user_uid', display: 'null' },
      ...{ endpoint: 'Users', kind: 'User' },
    },
  },
}

/** The values of a group that have columns, and its JSON without members. */
export type GroupValues = {
  displayName: string
  externalId: string | null
  /** The id by which external group mappings name the group. */
  mappingId: string
  json: string
}

export function valuesOf({ members, ...resource }: Resource): GroupValues {
  requireValid(groupType, resource)
  const json = JSON.stringify(resource)
  if (json.length > maxResourceLength)
    throw invalidValue(`the JSON of a group must have at most ${maxResourceLength} characters`)
  const displayName = keyOf('displayName', resource.displayName) ?? ''
  const externalId = keyOf('externalId', resource.externalId)
  return { displayName: fold(displayName), externalId, mappingId: externalId ?? displayName, json }
}

/** Requires that no other group of the provider has the same external id. Names need not be unique. */
export function* requireUniqueGroup(provider: string, uid: string, { externalId }: GroupValues): Work<void> {
  const same =
    externalId !== null &&
    (yield* first(sql`select uid from scim_groups
      where provider = ${provider} and external_id = ${externalId} and uid <> ${uid}`))
  if (same) throw conflict('another group has this externalId')
}
