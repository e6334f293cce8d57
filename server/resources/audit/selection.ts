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
import { join, raw, sql } from '../../store/sql.ts'

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
  const byRoot = new Map<string, (Sql | undefined)[]>()
  for (const region of regions) {
    const root = rootOf(region.uid)
    if (root.length < rootLength) continue
    byRoot.set(root, [...(byRoot.get(root) ?? []), conditionOf(region, root)])
  }
  if (byRoot.size > maxOrganizations)
    throw invalidArgument({
      field: 'uidp',
      description: `must name a group, because the caller can read the audit logs of more than ${maxOrganizations} organizations`,
    })
  return [...byRoot].map(([root, conditions]) => ({
    root,
    condition: conditions.includes(undefined) ? undefined : sql`(${join(conditions as Sql[], ' or ')})`,
  }))
}

/** Undefined for the whole organization. The uid of an entry is directly below that of its group. */
function conditionOf({ kind, uid }: Region, root: string): Sql | undefined {
  if (kind === 'point') {
    const sequence = sequenceIn(uid)
    return sequence === undefined
      ? raw('1 = 0')
      : sql`(group_uid = ${parentOf(uid)} and sequence = ${sequence})`
  }
  if (kind === 'children') return sql`group_uid = ${uid}`
  // `0` is the character after `/`, so `UID0` follows all uids below UID.
  return uid === root ? undefined : sql`(group_uid >= ${uid} and group_uid < ${`${uid}0`})`
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
