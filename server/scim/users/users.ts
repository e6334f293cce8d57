// Creates, replaces, patches and deletes users for SCIM clients.
import { isDeepStrictEqual } from 'node:util'
import { newChildUid } from '../../aip/uid.ts'
import { membersPerBatch, removeScimMembers } from '../../store/remove-scim-data.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { ChangeContext } from '../change-context.ts'
import { noSuchResource } from '../errors.ts'
import { requireMatch } from '../etag.ts'
import { storedGroups } from '../groups/stored-groups.ts'
import { applyChanges, readChanges } from '../patch/apply.ts'
import { normalizeResource } from '../schema/normalize.ts'
import type { Resource } from '../schema/schema.ts'
import { userType } from '../schema/user.ts'
import type { Changed, Stored } from '../stored.ts'
import { countChange, countDeleted, countNew, findStored, lockProvider, raiseVersions } from '../stored.ts'
import type { UserAccess } from './access.ts'
import { applyAccess, endAccess } from './access.ts'
import { requireUniqueUser, storedUsers, valuesOf, withDefaults } from './stored-users.ts'

export function* createUser({ provider, now, random }: ChangeContext, body: Resource): Work<Stored> {
  const values = valuesOf(withDefaults(normalizeResource(userType, body)))
  yield* countNew(storedUsers, provider, values.json)
  const [uid, time] = [newChildUid(provider, now(), random), now()]
  yield* requireUniqueUser(provider, uid, values)
  const { userName, externalId, isActive, json } = values
  const identity = yield* applyAccess({ provider, user: uid, before: undefined, after: values, now: time })
  yield sql`insert into scim_users
    (uid, provider, user_name, external_id, is_active, identity, create_time, update_time, version, json)
    values (${uid}, ${provider}, ${userName}, ${externalId}, ${isActive ? 1 : 0}, ${identity}, ${time}, ${time}, 1, ${json})`
  return { uid, createTime: time, updateTime: time, version: 1, resource: JSON.parse(json) as Resource }
}

export const replaceUser = (context: ChangeContext, id: string, body: Resource): Work<Changed> => {
  const sent = normalizeResource(userType, body)
  return changeUser(context, id, () => sent)
}

export const patchUser = (context: ChangeContext, id: string, body: Resource): Work<Changed> => {
  const changes = readChanges(userType, body)
  return changeUser(context, id, (resource) => applyChanges(resource, changes))
}

function* changeUser(
  context: ChangeContext,
  id: string,
  change: (resource: Resource) => Resource,
): Work<Changed> {
  const { provider, now, ifMatch } = context
  const { stored, access } = yield* lockUser(context, id)
  const values = valuesOf(withActive(change(stored.resource), stored.resource))
  requireMatch(ifMatch, stored.version)
  const { uid, createTime } = stored
  const { userName, externalId, isActive, json } = values
  if (isDeepStrictEqual(JSON.parse(json), stored.resource)) return { stored, isChanged: false }
  yield* requireUniqueUser(provider, uid, values)
  yield* countChange(provider, stored.resource, json)
  const identity = yield* applyAccess({ provider, user: uid, before: access, after: values, now: now() })
  const [version, updateTime] = [stored.version + 1, Math.max(now(), stored.updateTime + 1)]
  yield sql`update scim_users set user_name = ${userName}, external_id = ${externalId},
    is_active = ${isActive ? 1 : 0}, identity = ${identity}, update_time = ${updateTime}, version = ${version},
    json = ${json} where uid = ${uid}`
  const resource = JSON.parse(json) as Resource
  return { stored: { uid, createTime, updateTime, version, resource }, isChanged: true }
}

/** Without `active`, the stored value is kept: only an explicit `true` reactivates a user. */
const withActive = (changed: Resource, { active = true }: Resource): Resource =>
  changed.active === undefined ? { ...changed, active } : changed

/**
 * Deletes a batch of the memberships and, with the last batch, the user. Returns whether the user
 * is deleted. If not, it has a new version. Access ends with the first batch.
 */
export function* deleteUser(context: ChangeContext, id: string): Work<boolean> {
  const { provider, now, ifMatch } = context
  const { stored, access } = yield* lockUser(context, id)
  const { uid, version, resource } = stored
  requireMatch(ifMatch, version)
  yield* endAccess(provider, access, now())
  const memberships = yield* removeScimMembers(provider, sql`user_uid = ${uid}`)
  const groups = memberships.map(([group]) => group as string)
  yield* raiseVersions(storedGroups, groups, now())
  if (memberships.length === membersPerBatch) {
    yield* raiseVersions(storedUsers, [uid], now())
    return false
  }
  yield sql`delete from scim_users where uid = ${uid}`
  yield* countDeleted(storedUsers, provider, resource)
  return true
}

function* lockUser({ provider }: ChangeContext, id: string): Work<{ stored: Stored; access: UserAccess }> {
  yield* lockProvider(provider)
  const stored = yield* findStored(storedUsers, provider, id)
  if (!stored) throw noSuchResource('User', id)
  const row = yield* first(
    sql`select external_id, is_active, identity from scim_users where uid = ${stored.uid} /*pg for update */`,
  )
  const [externalId, isActive, identity] = row as [string | null, number, string | null] // found above
  return { stored, access: { externalId, isActive: isActive === 1, identity } }
}
