// Reads the grants of a caller, in the transaction that reads the data they protect.
import { unauthenticated } from '../aip/errors.ts'
import { lineage, rootLength } from '../aip/uid.ts'
import type { Store } from '../store/db.ts'
import { isLiveAt, neverExpires } from '../store/expiry.ts'
import { quotasBetween } from '../store/quota.ts'
import type { RowQuery } from '../store/row-query.ts'
import { selectRow } from '../store/row-query.ts'
import type { SignInCondition } from '../store/sign-ins.ts'
import { conditionFor, fieldCountOf } from '../store/sign-ins.ts'
import { currentSnapshot } from '../store/snapshot.ts'
import type { Placeholder, Placeholders, Row, Sql } from '../store/sql.ts'
import { join, prepared, preparedByKeys, raw, sql } from '../store/sql.ts'
import { isNotSuspended } from '../store/suspensions.ts'
import { together } from '../store/together.ts'
import type { Work } from '../store/work.ts'
import { all } from '../store/work.ts'
import type { QuotaAccess } from '../store/write-access.ts'
import type { Caller, SignIn } from '../wire/caller.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import type { Grant, Grants, ParseGrants } from './grants.ts'
import { parseGrants, withinLimits } from './grants.ts'
import { recallGrants, rememberGrants } from './remembered-grants.ts'

/**
 * Reads all grants of a caller, or only those that apply to `scope` if it is given. `time` is the current time in
 * milliseconds since 1970.
 */
export function* readGrants(
  caller: Caller,
  time: number,
  scope: string | undefined,
  parse: ParseGrants = parseGrants,
): Work<Grants> {
  const snapshot = yield* currentSnapshot()
  const known = snapshot && recallGrants(snapshot, caller, scope, time)
  if (known) return { caller, time, list: known }
  const groups = scope === undefined ? undefined : lineage(scope)
  const [row] = yield selectGrants(caller, time, groups)
  if (!row) return (yield* selectEach(caller, time, groups, parse, noSql)).grants
  const [createTime, own, external] = row as IdentityAndGrants
  const grants = grantsOf({ caller, time, groups, createTime, own, external, parse })
  if (snapshot) rememberGrants(snapshot, grants, scope)
  return grants
}

/**
 * The grants that an identity would have with a new token without limits. None if the identity
 * does not exist. `scope` as for `readGrants`.
 */
export function* readGrantsOf(
  identity: string,
  time: number,
  scope: string | undefined,
  parse: ParseGrants,
): Work<readonly Grant[]> {
  const groups = scope === undefined ? undefined : lineage(scope)
  const caller: Caller = { identity, issuedAt: Number.POSITIVE_INFINITY }
  const [row] = yield selectGrants(caller, time, groups)
  if (row) {
    const [createTime, own, external] = row as IdentityAndGrants
    return grantsOf({ caller, time, groups, createTime, own, external, parse }).list
  }
  const [existing] = yield sql`select uid from identities where uid = ${identity}`
  return existing ? (yield* selectEach(caller, time, groups, parse, noSql)).grants.list : []
}

/**
 * `quotasInOrganization` is read in the statement that reads the identity, so most creates need one
 * statement fewer.
 */
export type GrantsAndQuotas = { grants: Grants; quotasInOrganization: QuotaAccess['quotasInOrganization'] }

/**
 * Like `readGrants`, but locks the grants, so that none is revoked before the write commits. PostgreSQL cannot lock
 * rows that it aggregates, so each binding is selected as a row.
 */
export function* lockGrantsAndQuotas(
  caller: Caller,
  time: number,
  scope: string | undefined,
  parse: ParseGrants = parseGrants,
): Work<GrantsAndQuotas> {
  const groups = scope === undefined ? undefined : lineage(scope)
  return yield* selectEach(caller, time, groups, parse, lockBindings)
}

const noSql = raw('')
const lockBindings = raw('/*pg for share of b */')

/**
 * Selects the identity and each of its grants as a row. Also used without a lock, if some grants
 * are suspended: `selectGrants` then returns no row.
 */
function* selectEach(
  caller: Caller,
  time: number,
  groups: readonly string[] | undefined,
  parse: ParseGrants,
  lock: Sql,
): Work<GrantsAndQuotas> {
  const organization = groups?.[0]
  const selectBindings = (condition: Sql) =>
    all(sql`select ${grantText(groups)} from ${bindingsIn(groups)}
      and b.identity = ${caller.identity} and ${isLiveAt(time, 'b')} ${condition} ${lock}`)
  const [[identity], allBindings] = yield* together(
    all(selectIdentity(caller, organization)),
    selectBindings(noSql),
  )
  const [createTime, externalUntil, suspended, text = null] = (identity ?? []) as IdentityAndQuotas
  const condition = suspended ? sql`and ${isNotSuspended(caller.identity)}` : noSql
  const own = (suspended ? yield* selectBindings(condition) : allBindings).join()
  const external = externalUntil
    ? yield* selectExternal(
        caller.identity,
        time,
        organization,
        sql`${condition} ${lock === noSql ? noSql : lockMembers}`,
      )
    : null
  const grants = grantsOf({ caller, time, groups, createTime, own, external, parse })
  return { grants, quotasInOrganization: organization === undefined ? undefined : { organization, text } }
}

/** Locks the grants of the same caller for another scope. */
export function* lockGrants(
  { caller, time }: Pick<Grants, 'caller' | 'time'>,
  scope: string | undefined,
): Work<Grants> {
  return (yield* lockGrantsAndQuotas(caller, time, scope)).grants
}

/** Memberships are locked as well as bindings: otherwise either could be deleted meanwhile. */
const lockMembers = raw('/*pg for share of m, b */')

function* selectExternal(
  identity: string,
  time: number,
  organization: string | undefined,
  condition: Sql,
): Work<string> {
  const rows = yield sql`select ${externalGrantText} from ${externalBindings(organization)}
    and m.identity = ${identity} and ${isLiveAt(time, 'm')} and ${isLiveAt(time, 'b')} ${condition}`
  return rows.join()
}

/** The columns of selectIdentity. */
type IdentityAndQuotas = [
  createTime?: number,
  externalUntil?: number | null,
  suspended?: number | null,
  quotas?: string | null,
]

/**
 * The columns of allGrants and grantsIn. `own` are the grants that are bound to the identity, `external` those of the
 * external groups of which it is a member.
 */
type IdentityAndGrants = [createTime: number, own: string | null, external: string | null]

function selectIdentity({ identity, signIn }: Caller, organization: string | undefined): Sql {
  const statement =
    organization === undefined
      ? sql`select create_time, external_until, suspended from identities where uid = ${identity}`
      : prepared(identityAndQuotas, [], [organization, `${organization}0`, identity])
  if (!signIn) return statement
  const { person, signedInAt, id, provider = '' } = signIn
  return sql`${statement} and ${conditionOf(identity, signIn)(person, signedInAt, id, provider)}`
}

/** The values are the bounds of `quotasBetween`, and the identity. */
const identityAndQuotas = ([from, to, identity]: Placeholders<[string, string, string]>) =>
  sql`select create_time, external_until, suspended, ${quotasBetween(from, to)} from identities where uid = ${identity}`

/** For an assumed identity, the statement does not read the person, so the condition checks that the person exists. */
const conditionOf = (identity: string, { person, provider }: SignIn): SignInCondition =>
  conditionFor(identity === person, provider !== undefined)

/** The values of the condition for a sign-in. Without a provider, the condition uses only three. */
const valuesOf = ({ person, signedInAt, id, provider }: SignIn): SignInValues =>
  (provider === undefined ? [person, signedInAt, id] : [person, signedInAt, id, provider]) as SignInValues // see above

/**
 * Returns no row if grants of the caller are suspended (see store/suspensions.ts): for other
 * callers, this costs only the comparison of one column. Also returns no row if the sign-in of the
 * caller was ended.
 */
function selectGrants(
  { identity, signIn }: Caller,
  time: number,
  groups: readonly string[] | undefined,
): Sql {
  if (!signIn)
    return groups
      ? prepared(grantsIn, [], [...groups, time, groups[0] ?? '', time, time, identity])
      : prepared(allGrants, [], [time, time, time, identity])
  const condition = conditionOf(identity, signIn)
  return groups
    ? prepared(
        grantsInIfSignedIn,
        [condition],
        [...groups, time, groups[0] ?? '', time, time, identity, ...valuesOf(signIn)],
      )
    : prepared(allGrantsIfSignedIn, [condition], [time, time, time, identity, ...valuesOf(signIn)])
}

/** The current time, once for each comparison with an expiry: a value for each placeholder of the SQL. */
type Times = [ownTime: number, memberTime: number, externalTime: number]

const allGrants = ([ownTime, memberTime, externalTime, identity]: Placeholders<[...Times, string]>) =>
  sql`select i.create_time, ${aggregatedGrants(undefined, ownTime)},
    ${aggregatedExternalGrants(undefined, memberTime, externalTime)}
    from identities i where i.uid = ${identity} and i.suspended is null`

/** The groups, a time, the organization of the groups, two times, and the identity. */
type GroupsTimesAndIdentity = Placeholders<[...string[], number, string, number, number, string]>

/** The values are in the order in which the SQL uses them; otherwise `prepared` would reorder them for every call. */
function grantsIn(values: GroupsTimesAndIdentity): Sql {
  const groups = values.slice(0, -5)
  const others: unknown = values.slice(-5)
  const [ownTime, organization, memberTime, externalTime, identity] = others as Placeholders<
    [number, string, number, number, string] // the last five
  >
  return sql`select i.create_time, ${aggregatedGrants(groups, ownTime)},
    ${aggregatedExternalGrants(organization, memberTime, externalTime)}
    from identities i where i.uid = ${identity} and i.suspended is null`
}

/** The values of a SignInCondition. */
type SignInValues = [person: string, signedInAt: number, id: string, provider: string]

const allGrantsIfSignedIn = (
  [ownTime, memberTime, externalTime, identity, ...signIn]: Placeholders<[...Times, string, ...SignInValues]>,
  condition: SignInCondition,
): Sql => sql`${allGrants([ownTime, memberTime, externalTime, identity])} and ${condition(...signIn)}`

function grantsInIfSignedIn(
  values: Placeholders<[...string[], number, string, number, number, string, ...SignInValues]>,
  condition: SignInCondition,
): Sql {
  const [otherValues, signIn] = splitSignIn(values, condition)
  return sql`${grantsIn(otherValues as unknown as GroupsTimesAndIdentity)} and ${condition(...signIn)}` // without the sign-in
}

function splitSignIn(values: readonly Placeholder[], condition: SignInCondition) {
  const start = values.length - fieldCountOf(condition)
  return [values.slice(0, start), values.slice(start) as unknown as Placeholders<SignInValues>] as const // see valuesOf
}

/** The grants that are bound to an identity as one text: one value is read faster than many rows. */
export const aggregatedGrants = (groups: readonly Placeholder[] | undefined, time: number | Placeholder) =>
  sql`(select string_agg(${grantText(groups)}, ',') from ${bindingsIn(groups)} and b.identity = i.uid
    and ${isLiveAt(time, 'b')})`

/**
 * The grants of the external groups of which an identity is a member, in all groups of an organization, or in all
 * organizations. Null for the many identities that are in no external group: for these, it takes one comparison.
 */
export const aggregatedExternalGrants = (
  organization: Placeholder | undefined,
  memberTime: number | Placeholder,
  externalTime: number | Placeholder,
) =>
  sql`case when i.external_until is not null then (select string_agg(${externalGrantText}, ',')
    from ${externalBindings(organization)} and m.identity = i.uid and ${isLiveAt(memberTime, 'm')}
    and ${isLiveAt(externalTime, 'b')}) end`

/**
 * The external groups of a provider grant nothing outside of its organization. So a call in one
 * organization does not read the bindings of external groups of other organizations.
 */
const externalBindings = (organization: string | Placeholder | undefined) =>
  organization === undefined
    ? raw(externalJoin)
    : sql`${raw(externalJoin)} and substr(m.provider, 1, ${raw(String(rootLength))}) = ${organization}`

const externalJoin = `external_group_members m cross join role_bindings b cross join roles r
  where b.identity = m.external_group and r.uid = b.role`

/**
 * One grant as text: the group of a binding, or the index of that group in `groups`; then the bits of its role, and its
 * expiry if it has one. Written so that grants without an expiry are not concatenated with an empty text, which takes 7 %
 * longer.
 */
const grantText = (groups: readonly unknown[] | undefined) => raw(groups ? grantAtPosition : grantInGroup)

const withExpiry = (grant: string) =>
  `case when b.expire_time < ${neverExpires} then ${grant} || ' ' || b.expire_time else ${grant} end`
const grantAtPosition = withExpiry("g.position || ' ' || r.bits")
const grantInGroup = withExpiry("b.parent || ' ' || r.bits")

/** A grant of an external group ends with the membership or with the role binding of the group, whichever is first. */
const externalGrantText = raw(
  "b.parent || ' ' || r.bits || ' ' || case when b.expire_time < m.expire_time then b.expire_time else m.expire_time end",
)

/**
 * Written so that SQLite makes one index look-up for each group. The groups are rows of a derived table, because SQLite
 * would build a temporary table for `in`. Cross joins fix the join order: in another order, SQLite would read all
 * bindings of the caller.
 */
const bindingsIn = (groups: readonly (string | Placeholder)[] | undefined) =>
  groups
    ? sql`(${groupRows(groups)}) g cross join role_bindings b cross join roles r
        where b.parent = g.uid and r.uid = b.role`
    : raw('role_bindings b cross join roles r where r.uid = b.role')

const groupRows = (groups: readonly (string | Placeholder)[]) =>
  join(
    groups.map((group, position) => {
      const index = raw(String(position))
      return sql`select ${index} as position, /*pg cast( */ ${group} /*pg as text) collate "C" */ as uid`
    }),
    ' union all ',
  )

/** A row to read together with the grants that apply to `scope`. `time` as for `readGrants`. */
export type RowReading = { caller: Caller; time: number; scope: string; query: RowQuery }

/** The row is undefined if it does not exist. */
export type GrantsAndRow = { grants: Grants; row: Row | undefined }

/**
 * Reads a row together with the grants that apply to it. PostgreSQL runs one statement without a
 * transaction. On SQLite, remembered grants are not read again.
 */
export function readGrantsAndRow(
  store: Store,
  reading: RowReading,
  parse: ParseGrants,
): MaybePromise<GrantsAndRow> {
  const readInWork = () => store.read(() => readGrantsAndRowInWork(reading, parse))
  if (store.engine === 'sqlite') return readInWork()
  const groups = lineage(reading.scope)
  return andThen(store.query(grantsWithRow(reading, groups)), (rows) =>
    rows.length > 0 ? splitGrantsAndRow(reading, groups, rows, parse) : readInWork(),
  )
}

function* readGrantsAndRowInWork(reading: RowReading, parse: ParseGrants): Work<GrantsAndRow> {
  const { caller, time, scope, query } = reading
  const snapshot = yield* currentSnapshot()
  const known = snapshot && recallGrants(snapshot, caller, scope, time)
  if (known) return { grants: { caller, time, list: known }, row: (yield selectRow(query))[0] }
  const groups = lineage(scope)
  const rows = yield grantsWithRow(reading, groups)
  if (rows.length === 0) {
    const { grants } = yield* selectEach(caller, time, groups, parse, noSql)
    return { grants, row: (yield selectRow(query))[0] }
  }
  const grantsAndRow = splitGrantsAndRow(reading, groups, rows, parse)
  if (snapshot) rememberGrants(snapshot, grantsAndRow.grants, scope)
  return grantsAndRow
}

/** The grants in `groups` together with another row, in one statement. Returns no row where `selectGrants` returns none. */
export function grantsWithRow({ caller, time, query }: RowReading, groups: readonly string[]): Sql {
  const { identity, signIn } = caller
  const condition = signIn && conditionOf(identity, signIn)
  const ownValues = [...groups, time, groups[0] ?? '', time, time, ...query.values, identity]
  return preparedByKeys(
    [grantsWithRow, condition, groups.length, ...query.keys],
    signIn ? [...ownValues, ...valuesOf(signIn)] : ownValues,
    (placeholders) => buildGrantsWithRow(placeholders, groups.length, query, condition),
  )
}

/** The values: the groups, a time, their organization, two times, the values of the query, the identity, the sign-in. */
function buildGrantsWithRow(
  values: readonly Placeholder[],
  groupCount: number,
  query: RowQuery,
  condition: SignInCondition | undefined,
): Sql {
  const rowStart = groupCount + 4
  const rowEnd = rowStart + query.values.length
  const others: unknown = values.slice(groupCount)
  const [ownTime, organization, memberTime, externalTime] = others as Placeholders<
    [number, string, number, number] // before the values of the query
  >
  const [identity, ...signIn] = values.slice(rowEnd) as [Placeholder, ...Placeholders<SignInValues>]
  const statement = sql`select i.create_time, ${aggregatedGrants(values.slice(0, groupCount), ownTime)},
    ${aggregatedExternalGrants(organization, memberTime, externalTime)}, t.*
    from identities i left join (${query.build(values.slice(rowStart, rowEnd))}) t on 1 = 1
    where i.uid = ${identity} and i.suspended is null`
  return condition ? sql`${statement} and ${condition(...signIn)}` : statement
}

/** How many columns of `grantsWithRow` precede those of the row. */
const grantColumns = 3

export function splitGrantsAndRow(
  { caller, time }: RowReading,
  groups: readonly string[],
  rows: Row[],
  parse: ParseGrants = parseGrants,
): GrantsAndRow {
  const [first = []] = rows
  const [createTime, own, external] = first as Partial<IdentityAndGrants>
  const grants = grantsOf({ caller, time, groups, createTime, own, external, parse })
  const exists = (first[grantColumns] ?? null) !== null
  return { grants, row: exists ? first.slice(grantColumns) : undefined }
}

type StoredGrants = {
  caller: Caller
  time: number
  groups: readonly string[] | undefined
  /** The create time of the caller's identity; undefined if the identity does not exist or the sign-in was ended. */
  createTime: number | undefined
  /** The grants that are bound to the identity. */
  own: string | null | undefined
  /** The grants of the identity's external groups, not restricted to `groups`. */
  external: string | null | undefined
  parse: ParseGrants
}

function grantsOf({ caller, time, groups, createTime, own, external, parse }: StoredGrants): Grants {
  // A user who is deleted and signs in again has the same uid, but tokens from before the deletion must not work.
  if (createTime === undefined || Math.floor(createTime / 1000) > caller.issuedAt) {
    const reason = caller.signIn
      ? 'the sign-in of this token was ended, or its identity no longer exists; sign in again'
      : 'the identity of this token no longer exists'
    throw unauthenticated(reason, 'error="invalid_token"')
  }
  const ownList = own ? listOf(own, groups, parse) : []
  const list = external ? [...ownList, ...externalListOf(external, groups, parse)] : ownList
  return { caller, time, list: caller.limits ? withinLimits(list, caller.limits) : list }
}

const externalListOf = (text: string, groups: readonly string[] | undefined, parse: ParseGrants) =>
  groups ? parse(text).filter(({ group }) => groups.includes(group)) : parse(text)

/** With `groups`, the text contains indexes into `groups` instead of uids. */
function listOf(text: string, groups: readonly string[] | undefined, parse: ParseGrants): readonly Grant[] {
  const list = parse(text)
  return groups
    ? list.map(({ group, bits, until }) => ({ group: groups[Number(group)] ?? '', bits, until }))
    : list
}
