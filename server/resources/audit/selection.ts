// Which entries a list of the audit log contains: those in the regions of the caller that match the filters.
import type { Message } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { AuditOutcome } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import type { UIDPFilter } from '@stemma/api/gen/platform/common/uidp_pb.ts'
import { invalidArgument } from '../../aip/errors.ts'
import type { Region } from '../../aip/region.ts'
import { parentOf, rootLength, rootOf } from '../../aip/uid.ts'
import type { RootSelection } from '../../store/events/find-entries.ts'
import type { Sql } from '../../store/sql.ts'
import { among, raw, sql } from '../../store/sql.ts'

export type EntryFilter = Message & {
  uidp?: UIDPFilter | undefined
  actor: string
  resource: string
  kind: string
  action: string
  method: string
  outcome: AuditOutcome
  startTime?: Timestamp | undefined
  endTime?: Timestamp | undefined
}

/** The sequence number at the end of the uid of an entry. Undefined if it is not a safe integer. */
export function sequenceIn(uid: string): number | undefined {
  const sequence = Number.parseInt(uid.slice(-16), 16)
  return Number.isSafeInteger(sequence) ? sequence : undefined
}

export const entryUid = (group: string, sequence: number) =>
  `${group}/${sequence.toString(16).padStart(16, '0')}`

/** More organizations at a time would make a page expensive, because each has its own index range. */
const maxOrganizations = 50

/** The organizations of the regions, each with the condition that selects its entries in the regions. */
export function rootsIn(regions: readonly Region[]): RootSelection[] {
  const byRoot = Map.groupBy(
    regions.filter(({ uid }) => rootOf(uid).length >= rootLength),
    ({ uid }) => rootOf(uid),
  )
  if (byRoot.size > maxOrganizations)
    throw invalidArgument({
      field: 'uidp',
      description: `must name a group, because the caller can read the audit logs of more than ${maxOrganizations} organizations`,
    })
  return [...byRoot].map(([root, regionsOfRoot]) => ({ root, condition: conditionOf(regionsOfRoot, root) }))
}

/** Undefined for the whole organization. The uid of an entry is directly below that of its group. */
function conditionOf(regions: readonly Region[], root: string): Sql | undefined {
  const sequences = new Map<string, number[]>()
  const parents: string[] = []
  const ranges: Sql[] = []
  for (const { kind, uid } of regions) {
    if (kind === 'point') {
      const sequence = sequenceIn(uid)
      const group = parentOf(uid)
      if (sequence === undefined) continue
      const others = sequences.get(group)
      if (others) others.push(sequence)
      else sequences.set(group, [sequence])
    } else if (kind === 'children') parents.push(uid)
    else if (uid === root) return undefined
    // `0` is the character after `/`, so `UID0` follows all uids below UID.
    else ranges.push(sql`(group_uid >= ${uid} and group_uid < ${`${uid}0`})`)
  }
  const points = [...sequences].map(
    ([group, numbers]) => sql`(group_uid = ${group} and sequence in ${among(numbers)})`,
  )
  return anyOf([...points, ...(parents.length > 0 ? [sql`group_uid in ${among(parents)}`] : []), ...ranges])
}

/** A balanced tree of conditions: SQLite allows expressions with a depth of 1000, and there may be more conditions. */
function anyOf(conditions: readonly Sql[]): Sql {
  const [only] = conditions
  if (!only) return raw('1 = 0')
  if (conditions.length === 1) return only
  const middle = conditions.length >> 1
  return sql`(${anyOf(conditions.slice(0, middle))} or ${anyOf(conditions.slice(middle))})`
}

export function filtersOf(request: EntryFilter): Sql[] {
  const { actor, resource, kind, action, method, outcome, startTime, endTime } = request
  return [
    ...(startTime ? [sql`time >= ${wholeMs(startTime)}`] : []),
    ...(endTime ? [sql`time < ${wholeMs(endTime)}`] : []),
    ...(actor ? [sql`actor = ${actor}`] : []),
    ...(resource ? [sql`uid = ${resource}`] : []),
    ...(kind ? [sql`kind = ${kind}`] : []),
    ...(action ? [sql`action = ${action}`] : []),
    ...(method ? [sql`method = ${method}`] : []),
    ...(outcome === AuditOutcome.SUCCESS ? [sql`code = 0`] : []),
    ...(outcome === AuditOutcome.FAILURE ? [sql`code <> 0`] : []),
  ]
}

/** The first whole millisecond that is not before the time: entries have times in whole milliseconds. */
const wholeMs = ({ seconds, nanos }: Timestamp) => Number(seconds) * 1000 + Math.ceil(nanos / 1_000_000)
