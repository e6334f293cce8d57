// Sources of access: role bindings of an identity, and of the external groups that it is a member of.
import { parentOf } from '../../../aip/uid.ts'
import type { Bits } from '../../../policy/bits.ts'
import { decodeBits } from '../../../policy/bits.ts'
import { isLiveAt, neverExpires } from '../../../store/expiry.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { isNotSuspended } from '../../../store/suspensions.ts'
import type { Work } from '../../../store/work.ts'

export type Source = {
  /** The uid of the role binding. */
  binding: string
  role: string
  /** The uid of the identity that has access. For a binding of an external group: its member. */
  identity: string
  /** When the role binding or the membership ends, in milliseconds since 1970; undefined if neither does. */
  until: number | undefined
}

/** A source that `readSourcesOf` returns. */
export type OwnSource = Source & {
  bits: Bits
  /** Whether the binding is of an external group. */
  isExternal: boolean
  /** The role does not count, because an identity provider has deactivated the person. */
  isSuspended: boolean
}

export const groupOf = ({ binding }: Pick<Source, 'binding'>) => parentOf(binding)

export const untilOf = (expireTime: number): number | undefined =>
  expireTime < neverExpires ? expireTime : undefined

/**
 * All sources of an identity, or only those in `groups`, ordered by role binding. An identity has at most 1000 role
 * bindings, and 2000 through external groups.
 */
export function* readSourcesOf(
  identity: string,
  time: number,
  groups?: readonly string[],
): Work<OwnSource[]> {
  const condition = groups ? sql`and b.parent in ${among(groups)}` : raw('')
  const rows = yield sql`${directSources(identity, time, condition)} union all
    ${externalSources(identity, time, condition)}`
  const sources = new Map<string, OwnSource>()
  // There are far fewer roles than role bindings.
  const decoded = new Map<string, Bits>()
  const decode = (text: string) => {
    const bits = decoded.get(text) ?? decodeBits(text)
    decoded.set(text, bits)
    return bits
  }
  for (const [binding, role, bits, expireTime, isExternal, isActive] of rows as OwnRow[]) {
    const until = untilOf(expireTime)
    const known = sources.get(binding)
    // A person can be a member of a group by a sign-in and by SCIM. The longer membership counts.
    if (known && (known.until === undefined || (until !== undefined && until <= known.until))) continue
    sources.set(binding, {
      ...{ binding, role, identity, until, bits: decode(bits) },
      ...{ isExternal: isExternal === 1, isSuspended: isActive !== 1 },
    })
  }
  return [...sources.values()].sort((a, b) => (a.binding < b.binding ? -1 : 1))
}

type OwnRow = [
  binding: string,
  role: string,
  bits: string,
  expireTime: number,
  isExternal: number,
  isActive: number,
]

/** 1 for a role that counts. Suspensions are looked up only for people who have any. */
const isActive = sql`case when i.suspended is null or ${isNotSuspended(raw('i.uid'))}
  then 1 else 0 end`

const directSources = (identity: string, time: number, condition: Sql): Sql =>
  sql`select b.uid, b.role, r.bits, b.expire_time, 0, ${isActive}
    from identities i cross join role_bindings b cross join roles r
    where i.uid = ${identity} and b.identity = i.uid and r.uid = b.role and ${isLiveAt(time, 'b')} ${condition}`

const externalSources = (identity: string, time: number, condition: Sql): Sql =>
  sql`select b.uid, b.role, r.bits,
      case when m.expire_time < b.expire_time then m.expire_time else b.expire_time end, 1, ${isActive}
    from identities i cross join external_group_members m cross join role_bindings b cross join roles r
    where i.uid = ${identity} and m.identity = i.uid and ${isLiveAt(time, 'm')}
      and b.identity = m.external_group and r.uid = b.role and ${isLiveAt(time, 'b')} ${condition}`
