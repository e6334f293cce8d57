// Imports of advisories, many at a time and all or nothing.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { lineage } from '../../../aip/uid.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { insertEntries, insertRows } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { messageOf } from '../../kind.ts'
import { addPostings } from './postings.ts'
import type { Prepared } from './prepare.ts'
import { renamed, seeded } from './prepare.ts'
import { advisories } from './table.ts'
import { numberOf } from './terms.ts'
import { reviseAdvisory, withdrawAdvisory } from './write.ts'

export type Outcome = 'new' | 'changed' | 'same' | 'withdrawn'

type Known = { advisory: string; digest: string; isThere: boolean }

/**
 * Many rows go to many places, the same in each batch: the embedded engine keeps more of them at hand while it
 * imports, and writes up to 200 MB to its log before it brings them to their places.
 */
export function* prepareImport(): Work<void> {
  yield raw('/*pg select 1 -- */ pragma cache_size = -32768')
  yield raw('/*pg select 1 -- */ pragma wal_autocheckpoint = 50000')
}

/** What became of each, in their order. No two may have the same source. What is new goes into the segment. */
export function* importBatch(group: string, items: readonly Prepared[], segment: number): Work<Outcome[]> {
  const known = yield* findKnown(items)
  const fresh: Prepared[] = []
  const outcomes: Outcome[] = []
  for (const item of items) {
    const before = known.get(item.source)
    if (before?.digest === item.digest) outcomes.push('same')
    else if (before) outcomes.push(yield* change(item, before))
    // What was withdrawn before it was known here is nobody's concern.
    else if (item.withdrawTime !== undefined) outcomes.push('withdrawn')
    else {
      fresh.push(item)
      outcomes.push('new')
    }
  }
  yield* addAll(group, yield* underFreeNames(group, fresh), segment)
  return outcomes
}

const hashesAtOnce = 512

function* findKnown(items: readonly Prepared[]): Work<Map<string, Known>> {
  const known = new Map<string, Known>()
  for (let at = 0; at < items.length; at += hashesAtOnce) {
    const hashes = items.slice(at, at + hashesAtOnce).map(({ hash }) => hash)
    const rows = yield sql`select s.source, s.advisory, s.digest, a.uid from advisory_sources s
      left join advisories a on a.uid = s.advisory where s.hash in ${among(hashes)}`
    for (const [source, advisory, digest, uid] of rows as [string, string, string, string | null][])
      known.set(source, { advisory, digest, isThere: uid !== null })
  }
  return known
}

/** Names are given once on a server; a record of others may bring one that another organization has. */
function* underFreeNames(group: string, items: readonly Prepared[]): Work<Prepared[]> {
  const names = items.filter(({ isNamed }) => isNamed).map(nameOf)
  const seen = new Set<string>()
  const taken = new Set(names.filter((name) => seen.size === seen.add(name).size))
  for (let at = 0; at < names.length; at += hashesAtOnce) {
    const some = among(names.slice(at, at + hashesAtOnce))
    const rows = yield sql`select advisory_id from advisories where advisory_id in ${some}
      union all select name from withdrawn_advisories where name in ${some}`
    for (const [name] of rows) taken.add(name as string)
  }
  return items.map((item) => (item.isNamed && taken.has(nameOf(item)) ? renamed(group, item) : item))
}

const nameOf = ({ entry }: Prepared) => entry.columns.advisory_id as string // computed for every advisory

function* addAll(group: string, items: readonly Prepared[], segment: number): Work<void> {
  const entries = items
    .map(({ entry }) => ({ ...entry, columns: { ...entry.columns, segment } }))
    .sort((a, b) => (a.uid < b.uid ? -1 : 1))
  yield* insertEntries(advisories.table, entries, lineage(group))
  yield* addPostings(
    segment,
    items.map(({ entry, hashes }) => ({ number: numberOf(entry.uid), hashes })),
  )
  const sources = items.map(sourceOf).sort((a, b) => Number(a[0]) - Number(b[0]))
  yield* insertRows('advisory_sources', sourceColumns, sources)
}

const sourceColumns = ['hash', 'source', 'number', 'advisory', 'digest', 'format', 'record', 'update_time']

const sourceOf = ({ hash, source, entry, digest, format, record, updateTime }: Prepared) => [
  ...[hash, source, numberOf(entry.uid), entry.uid],
  ...[digest, format, record, updateTime],
]

/** What people added stays; what an import said before gives way to what it says now. */
function* change(item: Prepared, { advisory: uid, isThere }: Known): Work<Outcome> {
  const { hash, source, digest, record, origin, updateTime, withdrawTime } = item
  yield sql`update advisory_sources set digest = ${digest}, record = ${record}
    where hash = ${hash} and source = ${source}`
  if (!isThere) return 'same'
  const setting = {
    now: () => withdrawTime ?? updateTime,
    random: seeded(`${uid}\0${source}\0${updateTime}`),
  }
  if (withdrawTime !== undefined) {
    yield* withdrawAdvisory(setting, uid)
    return 'withdrawn'
  }
  const draft = messageOf(advisories, item.entry.proto)
  const revise = (advisory: Advisory) => {
    const { aliases, severities } = draft
    const isOurs = ({ author }: { author: string }) => author !== draft.author
    const events = [
      ...advisory.events.filter(isOurs),
      ...draft.events.map((event) => ({ ...event, uid: '' })),
    ]
    Object.assign(advisory, { aliases, severities, events })
  }
  const revised = yield* reviseAdvisory(setting, uid, revise, origin)
  const changed = revised.updateTime ? timestampMs(revised.updateTime) : updateTime
  yield sql`update advisory_sources set update_time = ${changed}
    where hash = ${hash} and source = ${source}`
  return 'changed'
}
