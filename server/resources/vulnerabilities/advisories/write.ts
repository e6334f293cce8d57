// Writing advisories: for the calls of v1 and for imports alike.
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_TypeSchema as ReasonSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'
import { alreadyExists, invalidArgument, invalidField, notFound } from '../../../aip/errors.ts'
import { newChildUid, rootOf } from '../../../aip/uid.ts'
import { violationsOf } from '../../../aip/validate.ts'
import { sql } from '../../../store/sql.ts'
import { insertUncounted } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { createIn } from '../../create.ts'
import { removeEntry } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import type { ExtraValues } from '../../kind.ts'
import { entryOf, standardFieldsOf } from '../../kind.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../../stored-resource.ts'
import { isAdvisoryId, newAdvisoryId } from '../advisory-id.ts'
import { changePostings } from './postings.ts'
import { advisories, withdrawnAdvisories } from './table.ts'
import { hashesOf, listed, numberOf, termsOf, textsOf, unlisted } from './terms.ts'

type Setting = Pick<Dependencies, 'now' | 'random'>

/** Rows stay small enough to be read many at a time. */
const largest = 512 * 1024

/** A new advisory, with its events; answers its uid. Its id is made unless it has one. */
export function* createAdvisory(
  { now, random }: Setting,
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
    throw invalidField('advisory_id', 'must be CGA and three times four of 23456789cfghjmpqrvwx')
  settleEvents(advisory, time, random)
  requireValid(advisory)
  requireSize(toBinary(AdvisorySchema, advisory))
  sortEvents(advisory)
  const { columns, hashes } = columnsOf(advisory, origin)
  const taken = `there is an advisory ${advisory.advisoryId} already`
  const gone = yield* first(sql`select uid from withdrawn_advisories where name = ${advisory.advisoryId}`)
  if (gone) throw alreadyExists(taken)
  yield* createIn(group, advisories, advisory, { uid, now: time, columns }, taken)
  yield* changePostings(columns.segment, numberOf(uid), new Set(), hashes)
  return uid
}

/** Changes an advisory; what has not changed is not written. */
export function* reviseAdvisory(
  { now, random }: Setting,
  uid: string,
  revise: (advisory: Advisory) => void,
  newOrigin?: string,
): Work<Advisory> {
  const stored = yield* lockResource(advisories, uid)
  if (!stored) throw notFound(AdvisorySchema.typeName, uid)
  const { resource: advisory, proto } = stored
  const { origin, segment } = stored.columns
  revise(advisory)
  settleEvents(advisory, now(), random)
  requireValid(advisory)
  sortEvents(advisory)
  const made = toBinary(AdvisorySchema, advisory)
  requireSize(made)
  const isSame = Buffer.compare(made, proto) === 0
  if (isSame && (newOrigin === undefined || newOrigin === origin)) return advisory
  const updateTime = nextUpdateTime(now(), stored.updateTime)
  advisory.updateTime = timestampFromMs(updateTime)
  const { columns, hashes } = columnsOf(advisory, newOrigin ?? origin, segment)
  yield* replaceResource(advisories, advisory, { uid, updateTime, columns })
  yield* changePostings(segment, numberOf(uid), storedHashes(uid, stored.columns), hashes)
  return advisory
}

/** Nobody finds it any more; whoever knows it reads when it was withdrawn. */
export function* withdrawAdvisory({ now }: Setting, uid: string): Work<void> {
  const stored = yield* lockResource(advisories, uid)
  if (!stored) throw notFound(AdvisorySchema.typeName, uid)
  const { resource: advisory, columns } = stored
  const time = nextUpdateTime(now(), stored.updateTime)
  advisory.deleteTime = timestampFromMs(time)
  advisory.updateTime = timestampFromMs(time)
  yield* changePostings(columns.segment, numberOf(uid), storedHashes(uid, columns), new Set())
  yield* removeEntry(advisories, uid)
  const fields = { ...standardFieldsOf(uid, advisory, time), name: advisory.advisoryId }
  yield* insertUncounted(withdrawnAdvisories.table, [entryOf(withdrawnAdvisories, advisory, fields)])
}

/** Events lie below their advisory. */
function settleEvents(advisory: Advisory, now: number, random: Setting['random']): void {
  for (const event of advisory.events) {
    event.uid ||= newChildUid(advisory.uid, now, random)
    event.createTime ??= timestampFromMs(now)
  }
}

/** In order of time; once they hold, since what is wrong with one is told by its number in what was sent. */
function sortEvents({ events }: Advisory): void {
  events.sort((a, b) => timeOf(a) - timeOf(b))
}

const timeOf = ({ createTime }: AdvisoryEvent) => (createTime ? timestampMs(createTime) : 0)

export function requireValid(advisory: Advisory): void {
  const [violation, ...others] = violationsOf(AdvisorySchema, advisory)
  if (violation) throw invalidArgument(violation, ...others)
  // Only the service shows it, so the rules of the contract pass over it; but here somebody says it.
  const { legacyAdvisoryId = '' } = advisory
  const { maxLength } = rulesOf(AdvisorySchema.field.legacyAdvisoryId)
  if (legacyAdvisoryId.length > maxLength)
    throw invalidField('legacy_advisory_id', `must be at most ${maxLength} characters long`)
  const broken = plainFields.find((field) => /\p{C}/u.test(advisory[field] ?? ''))
  if (broken)
    throw invalidField(AdvisorySchema.field[broken].name, 'must hold no line breaks or control characters')
  for (const [at, event] of advisory.events.entries()) {
    if (/\p{C}/u.test(event.author + event.reviewer))
      throw invalidField(
        `events[${at}].author`,
        'and reviewer must hold no line breaks or control characters',
      )
    if (!event.type.case) throw invalidField(`events[${at}].type`, 'is required: what has happened')
    if (!ReviewStateSchema.value[event.reviewState])
      throw invalidField(`events[${at}].review_state`, 'must be one of the review states')
    if (event.type.case === 'falsePositiveDetermination' && !ReasonSchema.value[event.type.value.type])
      throw invalidField(`events[${at}].false_positive_determination.type`, 'must be one of the reasons')
  }
}

export function requireSize(proto: Uint8Array): void {
  if (proto.length > largest)
    throw invalidField('events', `must be at most ${largest} bytes together with the rest`)
}

const plainFields = [
  ...(['author', 'artifactName', 'artifactType', 'artifactArchitecture'] as const),
  ...(['componentName', 'componentType', 'componentLocation', 'legacyAdvisoryId'] as const),
]

type AdvisoryColumns = ExtraValues<typeof advisories.extraColumns>

/** The extra columns of an advisory, and the hashes of its terms. It has a segment of its own by default. */
export function columnsOf(
  advisory: Advisory,
  origin: string,
  segment = numberOf(advisory.uid),
): { columns: AdvisoryColumns; hashes: Set<number> } {
  const [terms, texts] = [termsOf(advisory, origin), textsOf(advisory)]
  const columns = { origin, terms: listed(terms), texts: listed(texts), segment }
  return { columns, hashes: hashesOf(rootOf(advisory.uid), terms, texts) }
}

const storedHashes = (uid: string, { terms, texts }: AdvisoryColumns): Set<number> =>
  hashesOf(rootOf(uid), unlisted(terms), unlisted(texts))
