// Users in the store.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { conflict, invalidValue } from '../errors.ts'
import { maxKeyLength, maxResourceLength, maxUsers } from '../limits.ts'
import { requireValid } from '../schema/normalize.ts'
import type { Resource } from '../schema/schema.ts'
import { userType } from '../schema/user.ts'
import type { StoredType } from '../stored.ts'

/** Names of users are compared without regard to case (RFC 7643 section 4.1.1). */
const fold = (userName: string) => userName.toLowerCase()

export const storedUsers: StoredType = {
  type: userType,
  table: 'scim_users',
  countColumn: 'user_count',
  maxCount: maxUsers,
  keys: new Map([
    ['id', (provider: string, id: string) => sql`uid = ${`${provider}/${id}`}`],
    ['username', (_: string, name: string) => sql`user_name = ${fold(name)}`],
    ['externalid', (_: string, id: string) => sql`external_id = ${id}`],
  ]),
  references: {
    name: 'groups',
    condition: (uid: string) => sql`uid in (select user_uid from scim_members where group_uid = ${uid})`,
    columns: {
      ...{ own: 'user_uid', other: 'group_uid', display: 'g.json' },
      ...{ endpoint: 'Groups', kind: 'direct' },
    },
  },
}

/** The values of a user that have columns, and its JSON. */
export type UserValues = {
  userName: string
  externalId: string | null
  isActive: boolean
  json: string
}

/** A user without `active` is active. The default is stored, because some clients read the attribute. */
export const withDefaults = (resource: Resource): Resource => ({ active: true, ...resource })

/** Checks a user, and returns its values. */
export function valuesOf(resource: Resource): UserValues {
  requireValid(userType, resource)
  const { userName, externalId, active } = resource
  const json = JSON.stringify(resource)
  if (json.length > maxResourceLength)
    throw invalidValue(`the JSON of a user must have at most ${maxResourceLength} characters`)
  return {
    ...{ userName: fold(keyOf('userName', userName) ?? ''), externalId: keyOf('externalId', externalId) },
    ...{ isActive: active !== false, json },
  }
}

/** The value of an attribute with an index. Null if it is absent or empty. */
export function keyOf(name: string, value: unknown): string | null {
  const text = typeof value === 'string' ? value : ''
  if (text.length > maxKeyLength) throw invalidValue(`${name} must have at most ${maxKeyLength} characters`)
  return text === '' ? null : text
}

/** Requires that no other user of the provider has the same name or external id. */
export function* requireUniqueUser(provider: string, uid: string, values: UserValues): Work<void> {
  const { userName, externalId } = values
  const sameName = yield* first(sql`select uid from scim_users
    where provider = ${provider} and user_name = ${userName} and uid <> ${uid}`)
  if (sameName) throw conflict('another user has this userName')
  const sameId =
    externalId !== null &&
    (yield* first(sql`select uid from scim_users
      where provider = ${provider} and external_id = ${externalId} and uid <> ${uid}`))
  if (sameId) throw conflict('another user has this externalId')
}
