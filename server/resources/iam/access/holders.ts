// The identities that have capabilities at a uid, by their role bindings or as members of external groups.
import { lineage, rootOf } from '../../../aip/uid.ts'
import { decodeBits } from '../../../policy/bits.ts'
import { isLiveAt } from '../../../store/expiry.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import { StoreError } from '../../../store/store-error.ts'
import { isNotSuspended } from '../../../store/suspensions.ts'
import type { Work } from '../../../store/work.ts'

export type HoldersQuery = {
  uid: string
  /** The bits of the capabilities; an identity needs all of them. */
  bits: readonly number[]
  /** The current time, in milliseconds since 1970. */
  time: number
  /** The last uid of the previous page. */
  after: string
  size: number
  /** Fails with the error `expensive` if more role bindings and members of external groups would be read. */
  maxRows: number | undefined
}

export type Holders = { uids: string[]; next: string | undefined; total: number }

const nobody: Holders = { uids: [], next: undefined, total: 0 }

export function* readHolders({ uid, bits, time, after, size, maxRows }: HoldersQuery): Work<Holders> {
  const groups = lineage(uid)
  if (groups.length === 0 || bits.length === 0) return nobody
  if (maxRows !== undefined) yield* requireFew(groups, maxRows)
  const roles = yield sql`select uid, bits from roles where uid in (select b.role from ${bindingsIn(groups)})`
  const decoded = roles.map(([role, text]) => ({ role: role as string, bits: decodeBits(text as string) }))
  const rolesOfBits = bits.map((bit) => decoded.filter((role) => role.bits.has(bit)).map(({ role }) => role))
  if (rolesOfBits.some(({ length }) => length === 0)) return nobody
  const [first = raw(''), ...others] = rolesOfBits.map((uids) => holdersOf(groups, uids, time))
  const all = others.reduce((held, more) => sql`select uid from (${held}) a where uid in (${more})`, first)
  const rows = yield sql`select uid from (${all}) h where uid > ${after} order by uid limit ${size + 1}`
  const [[total] = [0]] = yield sql`select count(*) from (${all}) h`
  const uids = rows.slice(0, size).map(([holder]) => holder as string)
  return { uids, next: rows.length > size ? uids.at(-1) : undefined, total: Number(total) }
}

function* requireFew(groups: readonly string[], maxRows: number): Work<void> {
  const bindingCount = yield* countUpTo(maxRows + 1, sql`select 1 from ${bindingsIn(groups)}`)
  if (bindingCount > maxRows) throw new StoreError('expensive')
  const members = sql`select 1 from (${groupRows(groups)}) g cross join role_bindings b
      cross join external_group_members m
    where b.parent = g.uid and m.external_group = b.identity`
  const memberCount = yield* countUpTo(maxRows + 1 - bindingCount, members)
  if (bindingCount + memberCount > maxRows) throw new StoreError('expensive')
}

function* countUpTo(limit: number, rows: Sql): Work<number> {
  const [[count] = [0]] = yield sql`select count(*) from (${rows} limit ${limit}) r`
  return Number(count)
}

/** Cross joins fix the join order: SQLite makes one index look-up for each group. */
const bindingsIn = (groups: readonly string[]) =>
  sql`(${groupRows(groups)}) g cross join role_bindings b where b.parent = g.uid`

const groupRows = (groups: readonly string[]) =>
  join(
    groups.map((group) => sql`select /*pg cast( */ ${group} /*pg as text) collate "C" */ as uid`),
    ' union all ',
  )

/** The identities to which one of these roles is bound in one of the groups, directly or through an external group. */
function holdersOf(groups: readonly string[], roles: readonly string[], time: number): Sql {
  const rows = groupRows(groups)
  const bound = sql`b.parent = g.uid and b.role in ${among(roles)} and ${isLiveAt(time, 'b')} and ${isInEffect}`
  const direct = sql`select i.uid from (${rows}) g cross join role_bindings b cross join identities i
    where ${bound} and i.uid = b.identity
      and not exists (select 1 from external_group_role_mappings x where x.binding = b.uid)`
  const external = sql`select i.uid from (${rows}) g cross join role_bindings b
      cross join external_group_members m cross join identities i
    where ${bound} and m.external_group = b.identity and ${isLiveAt(time, 'm')} and i.uid = m.identity
      and substr(m.provider, 1, 40) = ${rootOf(groups[0] ?? '')}`
  return sql`${direct} union ${external}`
}

/** A provider that has deactivated a person suspends the bindings of the person (store/suspensions.ts). */
const isInEffect = sql`(i.suspended is null or ${isNotSuspended(raw('i.uid'))})`
