// Imports of advisories, many at a time and all or nothing. Everything is made from the record and its source, so
// that an import which was broken off and begun again leaves the same store.
import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { StatusError } from '../../../aip/errors.ts'
import { lineage, rootOf } from '../../../aip/uid.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import { insertEntries, insertRows } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { entryOf } from '../../kind.ts'
import { newAdvisoryId } from '../advisory-id.ts'
import type { Indexed } from './index-terms.ts'
import { addTerms, addTexts } from './index-terms.ts'
import { advisories } from './table.ts'
import { hashOf, numberOf } from './terms.ts'
import { columnsOf, requireValid, reviseAdvisory, withdrawAdvisory } from './write.ts'

/** An advisory as a record of others tells it. */
export type Item = {
  /** Names the record and its part, the same at every import. */
  source: string
  format: string
  record: string
  draft: Advisory
  origin: string
  createTime: number
  updateTime: number
  withdrawTime: number | undefined
}

export type Outcome = 'new' | 'changed' | 'same' | 'withdrawn'

type Digested = { item: Item; digest: string }
type Known = { advisory: string; digest: string; isThere: boolean }

const sourceHash = (root: string, source: string) => hashOf(`${root}\n${source}`)

/** Told by what an import makes of a record as well: another version of it may make something else. */
const edition = 1

const digestOf = ({ record, withdrawTime }: Item) =>
  createHash('sha256')
    .update(`${edition}\0${withdrawTime ?? ''}\0${record}`)
    .digest('base64url')

/** What keeps a draft from being imported. */
export function faultOf(draft: Advisory): string | undefined {
  try {
    requireValid(draft)
    return undefined
  } catch (error) {
    if (error instanceof StatusError) return error.message
    throw error
  }
}

/** Many rows go to many places, so the embedded engine keeps more of them at hand while it imports. */
export function* prepareImport(): Work<void> {
  yield raw('/*pg select 1 -- */ pragma cache_size = -32768')
}

/** What became of each, in their order. None may have a fault, and no two the same source. */
export function* importBatch(group: string, items: readonly Item[]): Work<Outcome[]> {
  const root = rootOf(group)
  const known = yield* findKnown(
    root,
    items.map(({ source }) => source),
  )
  const fresh: Digested[] = []
  const outcomes: Outcome[] = []
  for (const item of items) {
    const before = known.get(item.source)
    const digest = digestOf(item)
    if (before?.digest === digest) outcomes.push('same')
    else if (before) outcomes.push(yield* change(root, { item, digest }, before))
    // What was withdrawn before it was known here is nobody's concern.
    else if (item.withdrawTime !== undefined) outcomes.push('withdrawn')
    else {
      fresh.push({ item, digest })
      outcomes.push('new')
    }
  }
  yield* addAll(group, fresh)
  return outcomes
}

function* findKnown(root: string, sources: readonly string[]): Work<Map<string, Known>> {
  if (sources.length === 0) return new Map()
  const hashes = sources.map((source) => sourceHash(root, source))
  const rows = yield* all(sql`select s.source, s.advisory, s.digest, a.uid from advisory_sources s
    left join advisories a on a.uid = s.advisory where s.hash in ${among(hashes)}`)
  return new Map(
    rows.map(([source, advisory, digest, uid]) => [
      source as string,
      { advisory: advisory as string, digest: digest as string, isThere: uid !== null },
    ]),
  )
}

function* addAll(group: string, items: readonly Digested[]): Work<void> {
  const made = items.map((one) => ({ ...one, ...advisoryOf(group, one.item) }))
  const indexed: Indexed[] = []
  const texts: string[] = []
  const entries = made.map(({ item, uid, advisory }) => {
    const { values, terms, texts: own } = columnsOf(advisory, item.origin)
    for (const term of terms) indexed.push({ term, uid })
    texts.push(...own)
    const facts = { uid, name: '', createTime: item.createTime, updateTime: item.updateTime }
    return entryOf(advisories, advisory, facts, values)
  })
  entries.sort((a, b) => (a.uid < b.uid ? -1 : 1))
  yield* insertEntries(advisories.table, entries, lineage(group))
  yield* addTerms(rootOf(group), indexed)
  yield* addTexts(rootOf(group), texts)
  const sources = made.map(({ item, digest, uid }) => [
    ...[sourceHash(rootOf(group), item.source), item.source, numberOf(uid), uid],
    ...[digest, item.format, item.record, item.updateTime],
  ])
  yield* insertRows('advisory_sources', sourceColumns, sources)
}

const sourceColumns = ['hash', 'source', 'number', 'advisory', 'digest', 'format', 'record', 'update_time']

/** The same for a source at every import. */
function advisoryOf(group: string, { source, draft, createTime, updateTime }: Item) {
  const random = seeded(`${group}\0${source}`)
  const uid = `${group}/${random(8).toString('hex')}`
  const events = draft.events.map((event) => ({ ...event, uid: `${uid}/${random(8).toString('hex')}` }))
  const advisory = create(AdvisorySchema, {
    ...{ ...draft, uid, events, advisoryId: draft.advisoryId || newAdvisoryId(random) },
    ...{ createTime: timestampFromMs(createTime), updateTime: timestampFromMs(updateTime) },
  })
  return { uid, advisory }
}

/** Bytes that look random and are made from a text. */
function seeded(seed: string): (size: number) => Buffer {
  let count = 0
  return (size) => createHash('sha256').update(`${seed}\0${count++}`).digest().subarray(0, size)
}

/** What people added stays; what an import said before gives way to what it says now. */
function* change(root: string, { item, digest }: Digested, { advisory: uid, isThere }: Known): Work<Outcome> {
  const { draft, origin, updateTime, withdrawTime } = item
  yield sql`update advisory_sources set digest = ${digest}, record = ${item.record}
    where hash = ${sourceHash(root, item.source)} and source = ${item.source}`
  if (!isThere) return 'same'
  const random = seeded(`${uid}\0${item.source}\0${updateTime}`)
  const setting = { now: () => withdrawTime ?? updateTime, random }
  if (withdrawTime !== undefined) {
    yield* withdrawAdvisory(setting, uid)
    return 'withdrawn'
  }
  const revise = (advisory: Advisory) => {
    const { aliases, severities } = draft
    const isOurs = ({ author }: { author: string }) => author !== draft.author
    const events = [...advisory.events.filter(isOurs), ...draft.events]
    Object.assign(advisory, { aliases, severities, events })
  }
  const revised = yield* reviseAdvisory(setting, uid, revise, origin)
  const changed = revised.updateTime ? timestampMs(revised.updateTime) : updateTime
  yield sql`update advisory_sources set update_time = ${changed}
    where hash = ${sourceHash(root, item.source)} and source = ${item.source}`
  return 'changed'
}
