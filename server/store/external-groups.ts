// The members of external groups, which are groups of people that an identity provider knows. A membership comes from a
// sign-in, whose id token named the group, or from SCIM, by which the provider sends its groups. Members have the roles
// to which the external group is bound; see server/policy/read-grants.ts. The number of memberships
// is limited; see membership-limits.ts.
import { createHash } from 'node:crypto'
import { neverExpires } from './expiry.ts'
import { countMemberships, isMapped, mappedAmong, maxMemberships, withinLimit } from './membership-limits.ts'
import type { Sql } from './sql.ts'
import { among, bulkInsert, raw, sql } from './sql.ts'
import type { Work } from './work.ts'
import { all, first } from './work.ts'

export type MembershipSource = 'sign-in' | 'scim'

/** The maximum length of the id that a provider gives a group. */
export const maxGroupIdLength = 256

/**
 * The uid of an external group. It has the form of a person's uid, so no region of the tree
 * contains it. A person's uid is the hash of two values (aip/uid.ts) and this one of three, so
 * they never coincide.
 */
export const externalGroupUid = (provider: string, groupId: string): string =>
  createHash('sha256')
    .update(JSON.stringify(['external group', provider, groupId]))
    .digest('hex')
    .slice(0, 40)

const uidsOf = (provider: string, groupIds: readonly string[]): string[] =>
  [...new Set(groupIds)].map((id) => externalGroupUid(provider, id))

/**
 * A subquery with the uids by which roles are bound to these identities: their own uids, and those of the external
 * groups of which one of them is a member at this time.
 */
export const principalsOf = (identities: readonly string[], time: number): Sql =>
  sql`(select uid from identities where uid in ${among(identities)} union all
    select external_group from external_group_members where identity in ${among(identities)} and expire_time > ${time})`

/**
 * Replaces the memberships that an identity has in the groups of one provider, from one source. Returns the number of
 * memberships above the limit, which are not stored: the last ones of `groupIds`.
 */
export function* replaceMemberships(
  provider: string,
  identity: string,
  source: MembershipSource,
  groupIds: readonly string[],
  expireTime: number,
): Work<number> {
  const existing = yield* lockIdentities([identity])
  if (existing.length === 0) return 0
  yield sql`delete from external_group_members
    where identity = ${identity} and provider = ${provider} and source = ${source}`
  const groups = yield* mappedAmong(provider, uidsOf(provider, groupIds))
  const stored = yield* countMemberships(sql`identity = ${identity}`)
  const kept = groups.slice(0, Math.max(0, maxMemberships - stored))
  const rows = kept.map((group) => [identity, group, source, provider, expireTime])
  yield* insertMembers(provider, rows)
  yield* updateExpiry(existing)
  return groups.length - kept.length
}

/**
 * Ends the memberships through other providers if the person, with these groups added, would have
 * more memberships than the limit. For a sign-in in the browser: a provider that has used up the
 * limit must not keep the person from the groups of the provider that they choose. Must be followed
 * by `replaceMemberships` with the same groups.
 */
export function* makeRoom(
  provider: string,
  identity: string,
  source: MembershipSource,
  groupIds: readonly string[],
): Work<void> {
  yield* lockIdentities([identity])
  const remaining = yield* countMemberships(
    sql`identity = ${identity} and not (provider = ${provider} and source = ${source})`,
  )
  const { length: wanted } = yield* mappedAmong(provider, uidsOf(provider, groupIds))
  if (remaining + wanted > maxMemberships)
    yield sql`delete from external_group_members where identity = ${identity} and provider <> ${provider}`
}

/** Makes exactly these identities the members of a group that SCIM sends. Returns how many exceed their limit. */
export function* setGroupMembers(
  provider: string,
  groupId: string,
  identities: readonly string[],
): Work<number> {
  const group = externalGroupUid(provider, groupId)
  const rows = yield* all(
    sql`select identity from external_group_members where external_group = ${group} and source = ${scim}`,
  )
  const wanted = new Set(identities)
  const current = new Set(rows.map(([identity]) => identity as string))
  return yield* changeMembers(provider, group, {
    added: [...wanted.difference(current)],
    removed: [...current.difference(wanted)],
  })
}

/** Adds members to a group that SCIM sends. Returns how many exceed their limit and are not stored. */
export const addMembers = (provider: string, groupId: string, identities: readonly string[]): Work<number> =>
  changeMembers(provider, externalGroupUid(provider, groupId), { added: identities, removed: [] })

/** Removes members from a group that SCIM sends. */
export const removeMembers = (
  provider: string,
  groupId: string,
  identities: readonly string[],
): Work<number> =>
  changeMembers(provider, externalGroupUid(provider, groupId), { added: [], removed: identities })

/** Deletes all memberships that an identity has in the groups of one provider, such as those of a deactivated person. */
export function* removeAllMemberships(provider: string, identity: string): Work<void> {
  const existing = yield* lockIdentities([identity])
  yield sql`delete from external_group_members where identity = ${identity} and provider = ${provider}`
  yield* updateExpiry(existing)
}

/** Deletes a batch of the memberships in the groups of a provider. Returns whether there may be more. */
export const removeMembersOf = (provider: string): Work<boolean> => removeBatch(sql`provider = ${provider}`)

/** Deletes a batch of the memberships in an external group, from both sources. Returns whether there may be more. */
export const removeMembersOfGroup = (group: string): Work<boolean> =>
  removeBatch(sql`external_group = ${group}`)

function* removeBatch(condition: Sql): Work<boolean> {
  const rows = yield* all(
    sql`select identity from external_group_members where ${condition} limit ${batchSize}`,
  )
  if (rows.length === 0) return false
  const mayBeMore = rows.length === batchSize
  const existing = yield* lockIdentities(rows.map(([identity]) => identity as string))
  // Another transaction may have deleted all of them, and their memberships with them.
  if (existing.length === 0) return mayBeMore
  yield sql`delete from external_group_members where (identity, external_group, source) in
    (select identity, external_group, source from external_group_members
      where ${condition} and identity in ${among(existing)} limit ${batchSize})`
  yield* updateExpiry(existing)
  return mayBeMore
}

/** Deletes the expired memberships of up to `limit` identities. Returns whether there may be more. */
export function* deleteExpiredMemberships(now: number, limit: number): Work<boolean> {
  const rows = yield* all(
    sql`select distinct identity from external_group_members where expire_time <= ${now} limit ${limit}`,
  )
  const existing = yield* lockIdentities(rows.map(([identity]) => identity as string))
  for (const batch of batches(existing))
    yield sql`delete from external_group_members where identity in ${among(batch)} and expire_time <= ${now}`
  yield* updateExpiry(existing)
  return rows.length === limit
}

const scim: MembershipSource = 'scim'

type MemberChange = { added: readonly string[]; removed: readonly string[] }

/** Returns how many of the added exceed their limit. */
function* changeMembers(provider: string, group: string, { added, removed }: MemberChange): Work<number> {
  const existing = yield* lockIdentities([...added, ...removed])
  for (const batch of batches(removed))
    yield sql`delete from external_group_members
      where identity in ${among(batch)} and external_group = ${group} and source = ${scim}`
  const isAdding = added.length > 0 && (yield* isMapped(group))
  const candidates = isAdding ? [...new Set(added).intersection(new Set(existing))] : []
  const members: string[] = []
  for (const batch of batches(candidates)) members.push(...(yield* withinLimit(batch, group)))
  const rows = members.map((identity) => [identity, group, scim, provider, neverExpires])
  yield* insertMembers(provider, rows)
  yield* updateExpiry(existing)
  return candidates.length - members.length
}

const batchSize = 500

function* batches(uids: readonly string[]): Generator<string[], void, void> {
  for (let at = 0; at < uids.length; at += batchSize) yield uids.slice(at, at + batchSize)
}

/**
 * Locks the identities whose memberships change, so that concurrent changes of an identity run one
 * after the other: otherwise `updateExpiry` could overlook the memberships that the other transaction
 * has not committed. Locks in the order of the uids, to avoid deadlocks. Returns those that exist.
 */
function* lockIdentities(uids: readonly string[]): Work<string[]> {
  const existing: string[] = []
  for (const batch of batches([...new Set(uids)].sort())) {
    const rows = yield sql`select uid from identities where uid in ${among(batch)}
      order by uid /*pg for no key update */`
    existing.push(...rows.map(([uid]) => uid as string))
  }
  return existing
}

/** Inserts nothing if the provider was deleted meanwhile. */
function* insertMembers(provider: string, rows: readonly (readonly (string | number)[])[]): Work<void> {
  if (rows.length === 0) return
  const exists = yield* first(
    sql`select uid from identity_providers where uid = ${provider} /*pg for key share */`,
  )
  if (!exists) return
  const columns = 'identity, external_group, source, provider, expire_time'
  yield bulkInsert(
    sql`insert into ${raw(`external_group_members (${columns})`)}`,
    rows,
    raw('on conflict do nothing'),
  )
}

/**
 * Sets `external_until` of each identity to the latest expiry of its memberships. Reads all of
 * them: at most `maxMemberships` of each identity.
 */
function* updateExpiry(identities: readonly string[]): Work<void> {
  for (const batch of batches(identities))
    yield sql`update identities set external_until =
      (select max(m.expire_time) from external_group_members m where m.identity = identities.uid)
      where uid in ${among(batch)}`
}
