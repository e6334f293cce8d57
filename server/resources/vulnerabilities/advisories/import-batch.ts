// Writes a batch of imported advisories in one transaction.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import { lineage } from '../../../aip/uid.ts'
import { documentNumberOf } from '../../../store/postings/numbering.ts'
import { addPostings } from '../../../store/postings/postings.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { insertEntries, insertRows } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { messageOf } from '../../kind.ts'
import type { ImportRows } from './import-rows.ts'
import { otherIds, withOtherId } from './import-rows.ts'
import { seededBytes } from './seeded-bytes.ts'
import { advisories } from './table.ts'
import { advisoryIndex } from './terms.ts'
import { reviseAdvisory, withdrawAdvisory } from './write.ts'

export type Outcome = 'new' | 'changed' | 'same' | 'withdrawn'

/** An item that is skipped, because the advisory would be invalid. */
export type BrokenItem = { source: string; reason: string }

export type BatchResult = {
  /** The outcome of each item that is not broken. */
  outcomes: Outcome[]
  broken: BrokenItem[]
}

/** A record that was imported before. */
type Imported = {
  uid: string
  digest: string
  /** False if the advisory was withdrawn. */
  isListed: boolean
}

/**
 * Settings of SQLite for an import; on PostgreSQL, the statements are `select 1`. Every batch changes pages all over
 * the indexes. A cache of 32 MiB keeps these pages in memory. With a checkpoint only after 50,000 pages (200 MB) of
 * WAL, a page is written once for many changes.
 */
export function* tuneStoreForImport(): Work<void> {
  yield raw('/*pg select 1 -- */ pragma cache_size = -32768')
  yield raw('/*pg select 1 -- */ pragma wal_autocheckpoint = 50000')
}

/** No two items may have the same source. `segment` is the segment of the search index that new advisories are added to. */
export function* importBatch(
  access: WriteAccess,
  group: string,
  items: readonly ImportRows[],
  segment: number,
): Work<BatchResult> {
  const importedBefore = yield* findImported(items)
  const added: ImportRows[] = []
  const outcomes: Outcome[] = []
  const broken: BrokenItem[] = []
  for (const item of items) {
    const before = importedBefore.get(item.source)
    if (before?.digest === item.digest) outcomes.push('same')
    else if (before)
      try {
        outcomes.push(yield* changeOrSkip(access, item, before))
      } catch (error) {
        broken.push(brokenItem(item, error))
      }
    // Records that are already withdrawn when they are first seen are not stored.
    else if (item.withdrawTime !== undefined) outcomes.push('withdrawn')
    else added.push(item)
  }
  const { items: newItems, broken: brokenNewItems } = yield* withFreeIds(group, added)
  yield* insertAll(access, group, newItems, segment)
  return {
    outcomes: [...outcomes, ...newItems.map(() => 'new' as const)],
    broken: [...broken, ...brokenNewItems],
  }
}

/** Rethrows all errors except those of an invalid advisory, which are thrown before anything is written for the item. */
function brokenItem({ source }: ImportRows, error: unknown): BrokenItem {
  if (!(error instanceof StatusError) || error.code !== Code.INVALID_ARGUMENT) throw error
  return { source, reason: error.message }
}

/** The maximum number of values in the `in (…)` of one statement. */
const valuesPerStatement = 512

function* findImported(items: readonly ImportRows[]): Work<Map<string, Imported>> {
  const imported = new Map<string, Imported>()
  for (let start = 0; start < items.length; start += valuesPerStatement) {
    const hashes = items.slice(start, start + valuesPerStatement).map(({ sourceHash }) => sourceHash)
    const rows = yield sql`select s.source, s.advisory, s.digest, a.uid from advisory_sources s
      left join advisories a on a.uid = s.advisory where s.hash in ${among(hashes)}`
    for (const [source, uid, digest, listedUid] of rows as [string, string, string, string | null][])
      imported.set(source, { uid, digest, isListed: listedUid !== null })
  }
  return imported
}

/**
 * Gives other advisory ids to items whose ids are taken, because ids are unique on a server.
 * Returns all items except those that become invalid. Another organization may have taken the id of
 * a record, or even a generated id, because everybody can compute generated ids.
 */
function* withFreeIds(
  group: string,
  items: readonly ImportRows[],
): Work<{ items: ImportRows[]; broken: BrokenItem[] }> {
  const ids = items.map(advisoryIdOf)
  const used = new Set<string>()
  // `add` leaves the size unchanged if the set already contains the id.
  const repeated = new Set(ids.filter((id) => used.size === used.add(id).size))
  const taken = yield* findTaken(ids)
  const isFree = (item: ImportRows) => !taken.has(advisoryIdOf(item)) && !repeated.has(advisoryIdOf(item))
  const result = items.filter(isFree)
  const broken: BrokenItem[] = []
  let unresolved = items.filter((item) => !isFree(item))
  // Tries the candidates 1, then 2 and 3, then 4 to 7 and so on, so that few SQL statements are enough even if
  // somebody has taken many of them.
  for (let count = 1; unresolved.length > 0; count *= 2) {
    const candidates = new Map(unresolved.map((item) => [item, otherIds(group, item, count, count)]))
    const takenCandidates = yield* findTaken([...candidates.values()].flat())
    unresolved = unresolved.filter((item) => {
      const id = candidates
        .get(item)
        ?.find((candidate) => !takenCandidates.has(candidate) && !used.has(candidate))
      if (id === undefined) return true
      used.add(id)
      try {
        result.push(withOtherId(group, item, id))
      } catch (error) {
        broken.push(brokenItem(item, error))
      }
      return false
    })
  }
  return { items: result, broken }
}

/** Returns the ids that other advisories have, or had before they were withdrawn. */
function* findTaken(ids: readonly string[]): Work<Set<string>> {
  const taken = new Set<string>()
  for (let start = 0; start < ids.length; start += valuesPerStatement) {
    const chunk = among(ids.slice(start, start + valuesPerStatement))
    const rows = yield sql`select advisory_id from advisories where advisory_id in ${chunk}
      union all select name from withdrawn_advisories where name in ${chunk}`
    for (const [id] of rows) taken.add(id as string)
  }
  return taken
}

const advisoryIdOf = ({ entry }: ImportRows) => entry.columns.advisory_id as string // every row has this column, and it is text

/** Rows are inserted in the order of their primary keys, which changes fewer pages. */
function* insertAll(
  access: WriteAccess,
  group: string,
  items: readonly ImportRows[],
  segment: number,
): Work<void> {
  const entries = items
    .map(({ entry }) => ({ ...entry, columns: { ...entry.columns, segment } }))
    .sort((a, b) => (a.uid < b.uid ? -1 : 1))
  yield* insertEntries(access, advisories.table, entries, lineage(group))
  yield* addPostings(
    advisoryIndex,
    segment,
    items.map(({ entry, hashes }) => ({ number: documentNumberOf(entry.uid), hashes })),
  )
  const sources = items.toSorted((a, b) => a.sourceHash - b.sourceHash).map(sourceRow)
  yield* insertRows('advisory_sources', sourceColumns, sources)
}

const sourceColumns = ['hash', 'source', 'number', 'advisory', 'digest', 'format', 'record', 'update_time']

/** In the order of `sourceColumns`. */
const sourceRow = ({ sourceHash, source, entry, digest, format, record, updateTime }: ImportRows) => [
  ...[sourceHash, source, documentNumberOf(entry.uid), entry.uid],
  ...[digest, format, record, updateTime],
]

/** Like `change`. On PostgreSQL, a call may withdraw the advisory after `findImported` has read it. */
function* changeOrSkip(access: WriteAccess, item: ImportRows, before: Imported): Work<Outcome> {
  try {
    return yield* change(access, item, before)
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== Code.NOT_FOUND) throw error
    return yield* change(access, item, { ...before, isListed: false })
  }
}

/**
 * Applies a changed record to its advisory. A withdrawn advisory stays withdrawn. If the changed advisory would be
 * invalid, `reviseAdvisory` throws before anything is written, so the record is tried again in the next import.
 */
function* change(access: WriteAccess, item: ImportRows, { uid, isListed }: Imported): Work<Outcome> {
  const { source, updateTime, withdrawTime } = item
  const random = seededBytes(`${uid}\0${source}\0${updateTime}`)
  if (!isListed) {
    yield* updateSource(item)
    return 'same'
  }
  if (withdrawTime !== undefined) {
    yield* withdrawAdvisory({ access, now: () => withdrawTime, random }, uid)
    yield* updateSource(item)
    return 'withdrawn'
  }
  const authorBefore = yield* readAuthorBefore(item)
  const revised = yield* reviseAdvisory(
    { access, now: () => updateTime, random },
    uid,
    (advisory) => merge(advisory, item, authorBefore),
    item.origin,
  )
  yield* updateSource(item)
  const changedTime = revised.updateTime ? timestampMs(revised.updateTime) : updateTime
  yield sql`update advisory_sources set update_time = ${changedTime}
    where hash = ${item.sourceHash} and source = ${source}`
  return 'changed'
}

/**
 * The author of the record as it was imported before; undefined if it cannot have changed. The author of the advisory
 * is not used, because people can change it.
 */
function* readAuthorBefore({ sourceHash, source, format }: ImportRows): Work<string | undefined> {
  // The author of an OSV record follows from its id. The stored records of other formats contain their author.
  if (format === 'osv') return undefined
  const row = yield* first(
    sql`select record from advisory_sources where hash = ${sourceHash} and source = ${source}`,
  )
  return (JSON.parse(String(row?.[0] ?? '{}')) as { author?: string }).author
}

function* updateSource({ sourceHash, source, digest, record }: ImportRows): Work<void> {
  yield sql`update advisory_sources set digest = ${digest}, record = ${record}
    where hash = ${sourceHash} and source = ${source}`
}

/**
 * Takes the type, the aliases, the severities and the author's events from the record. Events of other authors stay,
 * except those of `authorBefore`, which are from the record as it was imported before.
 */
function merge(advisory: Advisory, { entry, hasOwnId }: ImportRows, authorBefore?: string): void {
  const { advisoryId, author, artifactType, aliases, severities, events } = messageOf(advisories, entry.proto)
  const otherEvents = advisory.events.filter(
    (event) => event.author !== author && event.author !== authorBefore,
  )
  const newEvents = events.map((event) => ({ ...event, uid: '' }))
  Object.assign(advisory, {
    artifactType,
    // As in `withOtherId`, the id of the record is an alias if the advisory has another id.
    aliases:
      hasOwnId && advisoryId !== advisory.advisoryId ? [...new Set([advisoryId, ...aliases])] : aliases,
    severities,
    events: [...otherEvents, ...newEvents],
  })
}
