// Creates, replaces, patches and deletes groups for SCIM clients.
import { isDeepStrictEqual } from 'node:util'
import { newChildUid } from '../../aip/uid.ts'
import { membersPerBatch, removeScimMembers } from '../../store/remove-scim-data.ts'
import { setMembersFromScim } from '../../store/scim-memberships.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { ChangeContext } from '../change-context.ts'
import { noSuchResource } from '../errors.ts'
import { requireMatch } from '../etag.ts'
import { applyChanges, readChanges } from '../patch/apply.ts'
import type { Change } from '../patch/change.ts'
import { groupType } from '../schema/group.ts'
import { normalizeResource } from '../schema/normalize.ts'
import type { Resource } from '../schema/schema.ts'
import type { Changed, Stored } from '../stored.ts'
import {
  countChange,
  countDeleted,
  countNew,
  findStored,
  idOf,
  lockProvider,
  raiseVersions,
} from '../stored.ts'
import { changedMembers, differenceOf, idsOf, readMembers, writeMembers } from './members.ts'
import { changeMemberships } from './memberships.ts'
import { requireUniqueGroup, storedGroups, valuesOf } from './stored-groups.ts'

export function* createGroup(context: ChangeContext, body: Resource): Work<Stored> {
  const { provider, now, random } = context
  const resource = normalizeResource(groupType, body)
  const [values, members] = [valuesOf(resource), new Set(idsOf(resource.members))]
  yield* countNew(storedGroups, provider, values.json)
  const [uid, time] = [newChildUid(provider, now(), random), now()]
  yield* requireUniqueGroup(provider, uid, values)
  const { displayName, externalId, mappingId, json } = values
  yield sql`insert into scim_groups
    (uid, provider, display_name, external_id, mapping_id, create_time, update_time, version, json)
    values (${uid}, ${provider}, ${displayName}, ${externalId}, ${mappingId}, ${time}, ${time}, 1, ${json})`
  const difference = differenceOf(new Set(), members)
  yield* writeMembers(provider, uid, difference, members.size)
  context.onIgnoredMembers(yield* changeMemberships(provider, mappingId, difference))
  return { uid, createTime: time, updateTime: time, version: 1, resource: JSON.parse(json) as Resource }
}

export const replaceGroup = (context: ChangeContext, id: string, body: Resource): Work<Changed> => {
  const sent = normalizeResource(groupType, body)
  const members = new Set(idsOf(sent.members))
  return changeGroup(context, id, { resource: () => sent, members: () => members })
}

export const patchGroup = (context: ChangeContext, id: string, body: Resource): Work<Changed> => {
  const isOfMembers = ({ target }: Change) => target.attribute.name === 'members'
  const changes = readChanges(groupType, body)
  const memberChanges = changes.filter(isOfMembers)
  const otherChanges = changes.filter((change) => !isOfMembers(change))
  return changeGroup(context, id, {
    resource: (resource) => applyChanges(resource, otherChanges),
    members: (current) => changedMembers(current, memberChanges),
  })
}

/** Functions from the state before a change to the state after it. */
type GroupChange = {
  resource(current: Resource): Resource
  members(current: ReadonlySet<string>): ReadonlySet<string>
}

function* changeGroup(context: ChangeContext, id: string, change: GroupChange): Work<Changed> {
  const { provider, now, ifMatch } = context
  const stored = yield* lockGroup(context, id)
  const { uid, createTime } = stored
  const values = valuesOf(change.resource(stored.resource))
  const before = yield* readMembers(uid)
  const after = change.members(before)
  requireMatch(ifMatch, stored.version)
  const difference = differenceOf(before, after)
  const { displayName, externalId, mappingId, json } = values
  const isSame = isDeepStrictEqual(JSON.parse(json), stored.resource)
  if (isSame && difference.added.length + difference.removed.length === 0) return { stored, isChanged: false }
  yield* requireUniqueGroup(provider, uid, values)
  yield* countChange(provider, stored.resource, json)
  yield* writeMembers(provider, uid, difference, after.size)
  const [version, updateTime] = [stored.version + 1, Math.max(now(), stored.updateTime + 1)]
  yield sql`update scim_groups set display_name = ${displayName}, external_id = ${externalId},
    mapping_id = ${mappingId}, update_time = ${updateTime}, version = ${version}, json = ${json} where uid = ${uid}`
  const previousId = valuesOf(stored.resource).mappingId
  if (previousId === mappingId)
    context.onIgnoredMembers(yield* changeMemberships(provider, mappingId, difference))
  else
    for (const changed of [previousId, mappingId])
      context.onIgnoredMembers(yield* setMembersFromScim(provider, changed))
  const resource = JSON.parse(json) as Resource
  return { stored: { uid, createTime, updateTime, version, resource }, isChanged: true }
}

/**
 * Deletes a batch of members and, with the last batch, the group. Returns whether this was the last
 * batch. If not, the group has a new version.
 */
export function* deleteGroup(context: ChangeContext, id: string): Work<boolean> {
  const { provider, now, ifMatch } = context
  const { uid, version, resource } = yield* lockGroup(context, id)
  requireMatch(ifMatch, version)
  const members = yield* removeScimMembers(provider, sql`group_uid = ${uid}`)
  const removed = members.map(([, user]) => idOf(user as string))
  yield* changeMemberships(provider, valuesOf(resource).mappingId, { added: [], removed })
  if (members.length === membersPerBatch) {
    yield* raiseVersions(storedGroups, [uid], now())
    return false
  }
  yield sql`delete from scim_groups where uid = ${uid}`
  yield* countDeleted(storedGroups, provider, resource)
  return true
}

function* lockGroup({ provider }: ChangeContext, id: string): Work<Stored> {
  yield* lockProvider(provider)
  const stored = yield* findStored(storedGroups, provider, id)
  if (!stored) throw noSuchResource('Group', id)
  return stored
}
