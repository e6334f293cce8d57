// The members of external groups, which are groups of people that an identity provider knows. A membership comes from a
// sign-in, whose id token named the group, or from SCIM, by which the provider sends its groups. Members have the roles
// to which the external group is bound; see server/policy/read-grants.ts.
import { createHash } from 'node:crypto'
import type { Sql } from './sql.ts'
import { among, bulkInsert, raw, sql } from './sql.ts'
import type { Work } from './work.ts'
import { all, first } from './work.ts'

export type MembershipSource = 'sign-in' | 'scim'

/** The maximum length of the id that a provider gives a group. */
export const maxGroupIdLength = 256

/** The expiry of memberships that do not expire: the end of the year 9999, in milliseconds since 1970. */
export const neverExpires = 253_402_300_799_000

/**
 * The uid of an external group. It has the form of a person's uid, so no region of the tree contains it. The hash of a
 * person has two parts (aip/uid.ts) and this one three, so they never coincide.
 */
export const externalGroupUid = (provider: string, groupId: string): string =>
  createHash('sha256')
    .update(JSON.stringify(['external group', provider, groupId]))
    .digest('hex')
    .slice(0, 40)

/**
 * A subquery with the uids by which roles are bound to these identities: their own uids, and those of the external
 * groups of which one of them is a member at this time.
 */
export const principalsOf = (identities: readonly string[], time: number): Sql =>
  sql`(select uid from identities where uid in ${among(identities)} union all
    select external_group from external_group_members where identity in ${among(identities)} and expire_time > ${time})`

/** Replaces the memberships that an identity has in the groups of one provider, from one source. */
export function* replaceMemberships(
  provider: string,
  identity: string,
  source: MembershipSource,
  groupIds: readonly string[],
  expireTime: number,
): Work<void> {
  const existing = yield* lockIdentities([identity])
  if (existing.length === 0) return
  yield sql`delete from external_group_members
    where identity = ${identity} and provider = ${provider} and source = ${source}`
  const groups = [...new Set(groupIds)].map((id) => externalGroupUid(provider, id))
  const rows = groups.map((group) => [identity, group, source, provider, expireTime])
  yield* insertMembers(provider, rows)
  yield* updateExpiry(existing)
}

/** Makes exactly these identities the members of a group that SCIM sends. */
export function* setGroupMembers(
  provider: string,
  groupId: string,
  identities: readonly string[],
): Work<void> {
  const group = externalGroupUid(provider, groupId)
  const rows = yield* all(
    sql`select identity from external_group_members where external_group = ${group} and source = ${scim}`,
  )
  const wanted = new Set(identities)
  const current = new Set(rows.map(([identity]) => identity as string))
  yield* changeMembers(provider, group, {
    added: [...wanted.difference(current)],
    removed: [...current.difference(wanted)],
  })
}

/** Adds members to a group that SCIM sends. */
export const addMembers = (provider: string, groupId: string, identities: readonly string[]): Work<void> =>
  changeMembers(provider, externalGroupUid(provider, groupId), { added: identities, removed: [] })

/** Removes members from a group that SCIM sends. */
export const removeMembers = (provider: string, groupId: string, identities: readonly string[]): Work<void> =>
  changeMembers(provider, externalGroupUid(provider, groupId), { added: [], removed: identities })

/** Deletes all memberships that an identity has in the groups of one provider, such as those of a deactivated person. */
export function* removeAllMemberships(provider: string, identity: string): Work<void> {
  const existing = yield* lockIdentities([identity])
  yield sql`delete from external_group_members where identity = ${identity} and provider = ${provider}`
  yield* updateExpiry(existing)
}

/** Deletes a batch of the memberships in the groups of a provider. Returns whether there may be more. */
export function* removeMembersOf(provider: string): Work<boolean> {
  const rows = yield* all(
    sql`select identity from external_group_members where provider = ${provider} limit ${batchSize}`,
  )
  if (rows.length === 0) return false
  const existing = yield* lockIdentities(rows.map(([identity]) => identity as string))
  yield sql`delete from external_group_members where (identity, external_group, source) in
    (select identity, external_group, source from external_group_members
      where provider = ${provider} and identity in ${among(existing)} limit ${batchSize})`
  yield* updateExpiry(existing)
  return rows.length === batchSize
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

function* changeMembers(provider: string, group: string, { added, removed }: MemberChange): Work<void> {
  const existing = yield* lockIdentities([...added, ...removed])
  for (const batch of batches(removed))
    yield sql`delete from external_group_members
      where identity in ${among(batch)} and external_group = ${group} and source = ${scim}`
  const members = [...new Set(added).intersection(new Set(existing))]
  const rows = members.map((identity) => [identity, group, scim, provider, neverExpires])
  yield* insertMembers(provider, rows)
  yield* updateExpiry(existing)
}

const batchSize = 500

function* batches(uids: readonly string[]): Generator<string[], void, void> {
  for (let at = 0; at < uids.length; at += batchSize) yield uids.slice(at, at + batchSize)
}

/**
 * Locks the identities whose memberships change, in one order, so that concurrent changes of an identity run one after
 * the other: otherwise `updateExpiry` could overlook the memberships that the other transaction has not committed.
 * Returns those that exist.
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

function* updateExpiry(identities: readonly string[]): Work<void> {
  for (const batch of batches(identities))
    yield sql`update identities set external_until =
      (select max(m.expire_time) from external_group_members m where m.identity = identities.uid)
      where uid in ${among(batch)}`
}
