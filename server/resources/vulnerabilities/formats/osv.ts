// OSV records: https://ossf.github.io/osv-schema.
import { create } from '@bufbuild/protobuf'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema, ReviewState } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import { latestApproved } from '../event-type.ts'
import type { Vector } from './cvss.ts'
import { osvSeverities, vectorFrom } from './cvss.ts'
import { ecosystemOf, typeOfEcosystem } from './ecosystems.ts'
import type { Imported } from './imported.ts'
import { approvedEvent, foundByPeople, mostEvents, RecordError } from './imported.ts'
import { aliasesOf } from './names.ts'
import type { Part } from './osv-parts.ts'
import { partsOf, requireSize, textsOf } from './osv-parts.ts'
import type { Affected } from './osv-ranges.ts'
import { fixesOf, notAffected, rangeUpTo, withFix } from './osv-ranges.ts'
import { parsePurl, purlOf } from './purl.ts'
import type { Fields } from './record-fields.ts'
import { fieldsOf, labelIn, listIn, textIn, timeIn } from './record-fields.ts'
import { millisecondsOf, timeText } from './time-text.ts'

/** `text` is what `value` was parsed from, where it is at hand. */
export function readOsv(value: unknown, text?: string): Imported[] {
  if (text !== undefined) requireSize(text)
  const record = fieldsOf(value, 'the record')
  const id = labelIn(record, 'id', '', 255)
  const modified = timeIn(record, 'modified', '')
  if (modified === undefined) throw new RecordError('modified must be a time such as 2026-01-02T03:04:05Z')
  const createTime = timeIn(record, 'published', '') ?? modified
  const updateTime = Math.max(modified, createTime)
  const withdrawTime = timeIn(record, 'withdrawn', '')
  const others = [...namesIn(record, 'aliases'), ...namesIn(record, 'upstream')]
  const vectors = vectorsIn(record, '')
  const parts = partsOf(record)
  const texts = textsOf(record, parts, text)
  // A name of ours is for one artifact; where a record has several it is one more alias.
  const isOurs = parts.length === 1 && isAdvisoryId(id)
  const [advisoryId, aliases] = isOurs ? [id, aliasesOf(others)] : ['', aliasesOf([id, ...others])]
  const author = authorOf(id)
  return parts.map((part, at) => ({
    source: `osv:${id}:${part.ecosystem}/${part.name}`,
    record: texts[at] ?? '',
    draft: create(AdvisorySchema, {
      ...{ author, advisoryId, aliases },
      artifactName: part.name,
      artifactType: typeOfEcosystem(part.ecosystem),
      events: eventsOf(part, author, createTime, updateTime),
      severities: severitiesOf(part, vectors),
    }),
    origin: part.purl.includes('upstream=') ? (parsePurl(part.purl)?.origin ?? '') : '',
    ...{ createTime, updateTime, withdrawTime },
  }))
}

/** `GHSA` of `GHSA-xxxx-xxxx-xxxx`: whose record it is. */
const authorOf = (id: string) => id.slice(0, Math.max(0, id.indexOf('-'))) || 'OSV'

function namesIn(record: Fields, key: string): string[] {
  return listIn(record, key, '').map((name, at) => {
    if (typeof name !== 'string') throw new RecordError(`${key}[${at}] must be a string`)
    return name
  })
}

function eventsOf(part: Part, author: string, found: number, changed: number): AdvisoryEvent[] {
  const detection = approvedEvent(author, found, foundByPeople)
  const fixes = fixesOf(part).slice(1 - mostEvents)
  if (fixes.length === 0)
    return [detection, approvedEvent(author, found, { case: 'truePositiveDetermination', value: {} })]
  const fixed = fixes.map((fixedVersion) =>
    approvedEvent(author, changed, { case: 'fixed', value: { fixedVersion } }),
  )
  return [detection, ...fixed]
}

const mostVectors = 100

/** Those of the package, else those of the record. */
function severitiesOf({ entries }: Part, ofRecord: Vector[]): Vector[] {
  const own = entries.flatMap(({ entry, path }) => vectorsIn(entry, path))
  return own.length > 0 ? own.slice(0, mostVectors) : ofRecord.slice(0, mostVectors)
}

/** Each once. */
function vectorsIn(fields: Fields, path: string): Vector[] {
  const vectors = new Map<string, Vector>()
  listIn(fields, 'severity', path).forEach((severity, at) => {
    const here = `${path}severity[${at}]`
    const one = fieldsOf(severity, here)
    const [type, score] = [textIn(one, 'type', `${here}.`) ?? '', textIn(one, 'score', `${here}.`) ?? '']
    const vector = vectorFrom(type, score)
    if (vector) vectors.set(score, vector)
  })
  return [...vectors.values()]
}

type OsvRecord = {
  id: string
  modified: string
  withdrawn?: string
  aliases?: readonly string[] | null
  affected?: readonly Affected[] | null
}

/**
 * The advisory as an OSV record, from the one that it was imported from, if it was. `importedTime` is the time of
 * change that it had then, and tells whether people have changed it since.
 */
export function writeOsv(
  advisory: Advisory,
  source?: { format: string; record: string },
  importedTime?: number,
): object {
  if (source?.format !== 'osv') return ownRecord(advisory)
  // Nothing was kept that could not be read.
  const { withdrawn, ...record } = JSON.parse(source.record) as OsvRecord
  const changed = millisecondsOf(advisory.updateTime)
  const isRevised = importedTime !== undefined && changed > importedTime
  return {
    ...record,
    ...namesOf(record, advisory),
    ...(isRevised && changed > Date.parse(record.modified) && { modified: timeText(changed) }),
    ...(advisory.deleteTime && { withdrawn: withdrawn ?? timeText(millisecondsOf(advisory.deleteTime)) }),
    affected: affectedFrom(record.affected ?? [], advisory),
  }
}

/**
 * Where a name of ours was that of a record about several packages, its advisories have names of their own, and it
 * is an alias of each (`readOsv`). Written under it they would all be read as the same advisory.
 */
function namesOf({ id, aliases }: OsvRecord, { advisoryId }: Advisory): Partial<OsvRecord> {
  return isAdvisoryId(id) && id !== advisoryId ? { id: advisoryId, aliases: [id, ...(aliases ?? [])] } : {}
}

function affectedFrom(all: readonly Affected[], advisory: Advisory): readonly Affected[] {
  const { artifactName, artifactType } = advisory
  const entries = all.filter(
    ({ package: its }) => its?.name === artifactName && typeOfEcosystem(its.ecosystem) === artifactType,
  )
  if (entries.length === 0) return [ownAffected(advisory)]
  return isNotAffected(advisory) ? entries.map(notAffected) : withFix(entries, fixOf(advisory))
}

const isNotAffected = (advisory: Advisory) =>
  latestApproved(advisory)?.type.case === 'falsePositiveDetermination'

/** The first version that is free of it, as far as the last word on the matter is a fix; else ''. */
function fixOf({ events }: Advisory): string {
  const latest = events.findLast(
    ({ type, reviewState }) => reviewState === ReviewState.APPROVED && type.case !== 'detection',
  )
  if (latest?.type.case === 'fixed') return latest.type.value.fixedVersion
  return latest?.type.case === 'patched' ? (latest.type.value.patchedVersions[0] ?? '') : ''
}

function ownRecord(advisory: Advisory): object {
  const { advisoryId, aliases, createTime, updateTime, deleteTime } = advisory
  const severity = osvSeverities(advisory.severities)
  // A record about a distribution's package has the names of the vulnerability here, not in aliases.
  const upstream = [...new Set(aliases)].filter((alias) => alias !== advisoryId)
  return {
    schema_version: '1.7.5',
    id: advisoryId,
    modified: timeText(millisecondsOf(updateTime ?? createTime)),
    ...(createTime && { published: timeText(millisecondsOf(createTime)) }),
    ...(deleteTime && { withdrawn: timeText(millisecondsOf(deleteTime)) }),
    ...(upstream.length > 0 && { upstream }),
    ...(severity.length > 0 && { severity }),
    affected: [ownAffected(advisory)],
  }
}

function ownAffected(advisory: Advisory): Affected {
  const entry = packageOf(advisory)
  return isNotAffected(advisory) ? entry : { ...entry, ranges: [rangeUpTo(fixOf(advisory))] }
}

/** The schema has a list of ecosystems; artifacts beyond it are named where databases may say what they like. */
function packageOf({ artifactName: name, artifactType: type }: Advisory) {
  const ecosystem = ecosystemOf(type)?.osv
  if (!ecosystem) return { database_specific: { artifact_type: type, artifact_name: name } }
  const purl = purlOf(type, name)
  return { package: { ecosystem, name, ...(purl && { purl }) } }
}
