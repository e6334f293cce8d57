// Creates, revises and withdraws advisories. Imports use only the last two: import-batch.ts inserts new advisories.
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { alreadyExists, invalidField, notFound } from '../../../aip/errors.ts'
import { newChildUid } from '../../../aip/uid.ts'
import { documentNumberOf } from '../../../store/postings/numbering.ts'
import { changePostings } from '../../../store/postings/postings.ts'
import { sql } from '../../../store/sql.ts'
import { insertUncounted } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { createIn } from '../../create.ts'
import { removeEntry } from '../../delete.ts'
import type { WriteContext } from '../../dependencies.ts'
import { standardFieldsOf, storedEntryOf } from '../../kind.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { advisoryIdLetters, isAdvisoryId, newAdvisoryId } from '../advisory-id.ts'
import { searchColumnsOf, storedHashes } from './search-columns.ts'
import { advisories, withdrawnAdvisories } from './table.ts'
import { advisoryIndex } from './terms.ts'
import { requireSize, requireValid } from './validate-advisory.ts'

/**
 * Creates an advisory with its events and returns its uid. An advisory id is generated unless the
 * draft has one. `origin` is the source package of the artifact.
 */
export function* createAdvisory(
  { access, now, random }: WriteContext,
  group: string,
  draft: Advisory,
  origin = '',
): Work<string> {
  const time = now()
  const uid = newChildUid(group, time, random)
  const advisory = create(AdvisorySchema, {
    ...draft,
    uid,
    advisoryId: draft.advisoryId || newAdvisoryId(random),
  })
  if (!isAdvisoryId(advisory.advisoryId))
    throw invalidField(
      'advisory_id',
      `must look like CGA-xxxx-xxxx-xxxx, where x is one of ${advisoryIdLetters}`,
    )
  completeEvents(advisory, time, random)
  requireValid(advisory)
  requireSize(toBinary(AdvisorySchema, advisory))
  sortEvents(advisory)
  const { columns, hashes } = searchColumnsOf(advisory, origin)
  const conflict = `advisory ${advisory.advisoryId} already exists`
  yield* createIn(access, group, advisories, advisory, { uid, now: time, columns }, conflict)
  // Checked after the insert, because the insert waits for a transaction that is withdrawing an
  // advisory with this id.
  const withdrawn = yield* first(
    sql`select uid from withdrawn_advisories where name = ${advisory.advisoryId}`,
  )
  if (withdrawn) throw alreadyExists(conflict)
  yield* changePostings(advisoryIndex, columns.segment, documentNumberOf(uid), new Set(), hashes)
  return uid
}

/** Changes an advisory in place with `revise`, and writes it only if it has changed. */
export function* reviseAdvisory(
  { access, now, random }: WriteContext,
  uid: string,
  revise: (advisory: Advisory) => void,
  newOrigin?: string,
): Work<Advisory> {
  const stored = yield* lockResource(advisories, uid)
  if (!stored) throw notFound(AdvisorySchema.typeName, uid)
  const { resource: advisory, proto } = stored
  const { origin, segment } = stored.columns
  revise(advisory)
  completeEvents(advisory, now(), random)
  requireValid(advisory)
  sortEvents(advisory)
  const revised = toBinary(AdvisorySchema, advisory)
  requireSize(revised)
  const isSame = Buffer.compare(revised, proto) === 0
  if (isSame && (newOrigin === undefined || newOrigin === origin)) return advisory
  const updateTime = nextUpdateTime(now(), stored.updateTime)
  advisory.updateTime = timestampFromMs(updateTime)
  const { columns, hashes } = searchColumnsOf(advisory, newOrigin ?? origin, segment)
  yield* replaceResource(access, advisories, advisory, { uid, updateTime, columns })
  yield* changePostings(
    advisoryIndex,
    segment,
    documentNumberOf(uid),
    storedHashes(uid, stored.columns),
    hashes,
  )
  return advisory
}

/** Moves an advisory to the table of withdrawn ones: lists no longer contain it, but it can be read by uid. */
export function* withdrawAdvisory({ access, now }: WriteContext, uid: string): Work<void> {
  const stored = yield* lockResource(advisories, uid)
  if (!stored) throw notFound(AdvisorySchema.typeName, uid)
  const { resource: advisory, columns } = stored
  const time = nextUpdateTime(now(), stored.updateTime)
  advisory.deleteTime = timestampFromMs(time)
  advisory.updateTime = timestampFromMs(time)
  yield* changePostings(
    advisoryIndex,
    columns.segment,
    documentNumberOf(uid),
    storedHashes(uid, columns),
    new Set(),
  )
  yield* removeEntry(access, advisories, uid)
  const fields = { ...standardFieldsOf(uid, advisory, time), name: advisory.advisoryId }
  yield* insertUncounted(access, withdrawnAdvisories.table, [
    storedEntryOf(withdrawnAdvisories, advisory, fields),
  ])
}

/** New events get a uid below that of the advisory, and the current time if they have none. */
function completeEvents(advisory: Advisory, now: number, random: WriteContext['random']): void {
  for (const event of advisory.events) {
    event.uid ||= newChildUid(advisory.uid, now, random)
    event.createTime ??= timestampFromMs(now)
  }
}

/** Sorts events by time. Called after validation, because errors name the index of an event in the request. */
function sortEvents({ events }: Advisory): void {
  events.sort((a, b) => timeOf(a) - timeOf(b))
}

const timeOf = ({ createTime }: AdvisoryEvent) => (createTime ? timestampMs(createTime) : 0)
