// The groups in which an identity has roles. Filters and totals need all of them, at most 3000: they are read from an
// index, without the rows of the role bindings. The rows are read only for one page.
import type { Bits } from '../../../policy/bits.ts'
import { decodeBits } from '../../../policy/bits.ts'
import { isLiveAt } from '../../../store/expiry.ts'
import type { Row, Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { isNotSuspended } from '../../../store/suspensions.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Source } from './source.ts'
import { untilOf } from './source.ts'

/** A role in a group. `holder` is the identity, or the external group through which it has the role. */
export type Reached = { group: string; role: string; holder: string; expireTime: number }

/** The position of an entry. Entries are ordered by it: a space sorts before all characters of uids. */
export const positionOf = ({ group, role, holder }: Omit<Reached, 'expireTime'>) =>
  `${group} ${role} ${holder}`

/** The roles that count at this time: those of suspended role bindings do not. */
export function* readReach(identity: string, time: number): Work<Reached[]> {
  const row = yield* first(sql`select suspended, external_until from identities where uid = ${identity}`)
  if (!row) return []
  const [suspended, externalUntil] = row
  const condition = suspended === null ? raw('') : sql`and ${isNotSuspended(identity)}`
  const own = (yield selectOwn(identity, time, condition)).map(reachedOf)
  if (externalUntil === null) return own
  const external = (yield selectExternal(identity, time, condition)).map(reachedOf)
  return [...own, ...external].sort((a, b) => (positionOf(a) < positionOf(b) ? -1 : 1))
}

const reachedOf = ([group, role, holder, expireTime]: Row) => ({ group, role, holder, expireTime }) as Reached // the columns have these types

const selectOwn = (identity: string, time: number, condition: Sql): Sql =>
  sql`select b.parent, b.role, b.identity, b.expire_time from role_bindings b
    where b.identity = ${identity} and ${isLiveAt(time, 'b')} ${condition} order by b.parent, b.role`

/** A person can be a member of a group by a sign-in and by SCIM. The longer membership counts. */
const selectExternal = (identity: string, time: number, condition: Sql): Sql =>
  sql`select b.parent, b.role, b.identity,
      case when m.expire_time < b.expire_time then m.expire_time else b.expire_time end
    from (select external_group, max(expire_time) as expire_time from external_group_members
        where identity = ${identity} and ${isLiveAt(time)} group by external_group) m
      cross join role_bindings b
    where b.identity = m.external_group and ${isLiveAt(time, 'b')} ${condition}`

/** The capabilities of these roles. */
export function* readBits(reached: readonly Reached[]): Work<Map<string, Bits>> {
  const roles = [...new Set(reached.map(({ role }) => role))]
  if (roles.length === 0) return new Map()
  const rows = yield sql`select uid, bits from roles where uid in ${among(roles)}`
  return new Map((rows as [string, string][]).map(([uid, bits]) => [uid, decodeBits(bits)]))
}

/** The role bindings of a page. */
export function* sourcesOf(identity: string, page: readonly Reached[]): Work<Source[]> {
  if (page.length === 0) return []
  const [holders, groups] = [page.map(({ holder }) => holder), page.map(({ group }) => group)]
  const rows = yield sql`select uid, parent, role, identity from role_bindings
    where identity in ${among([...new Set(holders)])} and parent in ${among([...new Set(groups)])}`
  const bindings = new Map(
    (rows as [string, string, string, string][]).map(([uid, group, role, holder]) => [
      positionOf({ group, role, holder }),
      uid,
    ]),
  )
  return page.flatMap((entry) => {
    const binding = bindings.get(positionOf(entry))
    return binding ? { binding, role: entry.role, identity, until: untilOf(entry.expireTime) } : []
  })
}
