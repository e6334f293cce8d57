// The members of groups. A group can have thousands, so changes work on their ids.
import { among, bulkInsert, raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all, first } from '../../store/work.ts'
import { badRequest, invalidValue, shortened } from '../errors.ts'
import { listOf } from '../filter/evaluate.ts'
import type { Filter } from '../filter/parse.ts'
import { maxMembers, maxMembersInRequest, maxMembersOfGroup } from '../limits.ts'
import type { Change } from '../patch/change.ts'
import { portions } from '../portions.ts'
import type { Resource } from '../schema/schema.ts'
import { idOf, isId } from '../stored.ts'

export function* readMembers(group: string): Work<Set<string>> {
  const rows = yield* all(sql`select user_uid from scim_members where group_uid = ${group}`)
  return new Set(rows.map(([uid]) => idOf(uid as string)))
}

/** The ids in a list of members that a client sent. */
export function idsOf(members: unknown): string[] {
  const list = listOf(members)
  if (list.length > maxMembersInRequest)
    throw badRequest('tooMany', `a request may contain at most ${maxMembersInRequest} members`)
  return list.map((member) => {
    const value = typeof member === 'string' ? member : (member as Resource | null)?.value
    if (typeof value !== 'string' || !isId(value))
      throw invalidValue(
        `members must be ids of users, not ${JSON.stringify(shortened(String(value)))}; groups in groups are not supported`,
      )
    return value
  })
}

/** The members after the changes of a PATCH. */
export function changedMembers(current: ReadonlySet<string>, changes: readonly Change[]): Set<string> {
  requireFewMembers(changes)
  let members = new Set(current)
  for (const { op, target, value } of changes) {
    if (target.selection) {
      if (op !== 'remove')
        throw badRequest('mutability', 'a member cannot be changed; add and remove members')
      members.delete(idSelectedBy(target.selection.filter))
      // `add` needs a value (RFC 7644 section 3.5.2.1). `replace` without a value would remove all members.
    } else if (op !== 'remove' && value === undefined) throw invalidValue(`${target.path} needs a value`)
    else if (op === 'add') for (const id of idsOf(value)) members.add(id)
    else if (op === 'replace') members = new Set(idsOf(value))
    // Entra removes members by sending them, without a filter in the path.
    else if (value !== undefined && value !== null) for (const id of idsOf(value)) members.delete(id)
    else members = new Set()
  }
  return members
}

/**
 * The id in `members[value eq "id"]`. Other filters are refused: each of up to `maxOperations`
 * operations would evaluate its filter for thousands of members.
 */
function idSelectedBy(filter: Filter): string {
  const isEquality =
    filter.kind === 'compare' && filter.operator === 'eq' && filter.path.toLowerCase() === 'value'
  if (isEquality && typeof filter.value === 'string') return filter.value.toLowerCase()
  throw badRequest('invalidFilter', 'members can be selected only by members[value eq "id"]')
}

/** The limit is for the whole request, not for each of its operations. */
function requireFewMembers(changes: readonly Change[]): void {
  const count = changes.reduce((total, { value }) => total + listOf(value).length, 0)
  if (count > maxMembersInRequest)
    throw badRequest('tooMany', `a request may contain at most ${maxMembersInRequest} members`)
}

export type MemberDifference = { added: string[]; removed: string[] }

export const differenceOf = (before: ReadonlySet<string>, after: ReadonlySet<string>): MemberDifference => ({
  added: [...after].filter((id) => !before.has(id)),
  removed: [...before].filter((id) => !after.has(id)),
})

/** Stores a change of the members. */
export function* writeMembers(
  provider: string,
  group: string,
  { added, removed }: MemberDifference,
  size: number,
): Work<void> {
  if (size > maxMembersOfGroup)
    throw badRequest('tooMany', `a group can have at most ${maxMembersOfGroup} members`)
  yield* changeMemberCount(provider, added.length - removed.length)
  const [addedUids, removedUids] = [added, removed].map((ids) => ids.map((id) => `${provider}/${id}`)) as [
    string[],
    string[],
  ]
  yield* requireUsers(addedUids)
  if (removedUids.length > 0)
    for (const some of portions(removedUids))
      yield sql`delete from scim_members where group_uid = ${group} and user_uid in ${among(some)}`
  if (addedUids.length > 0)
    yield bulkInsert(
      raw('insert into scim_members (group_uid, user_uid)'),
      addedUids.map((user) => [group, user]),
    )
}

function* changeMemberCount(provider: string, growth: number): Work<void> {
  if (growth === 0) return
  const row = yield* first(sql`update scim_settings set member_count = member_count + ${growth}
    where provider = ${provider} returning member_count`)
  if (growth > 0 && ((row?.[0] ?? 0) as number) > maxMembers)
    throw badRequest(
      'tooMany',
      `the groups of an identity provider can have at most ${maxMembers} members together`,
    )
}

function* requireUsers(uids: readonly string[]): Work<void> {
  const found = new Set<unknown>()
  for (const some of portions(uids))
    for (const [uid] of yield* all(sql`select uid from scim_users where uid in ${among(some)}`))
      found.add(uid)
  const missing = uids.find((uid) => !found.has(uid))
  if (missing !== undefined) throw invalidValue(`there is no user ${idOf(missing)} to be a member`)
}
