// Reads OSV records: https://ossf.github.io/osv-schema.
import { create } from '@bufbuild/protobuf'
import type { AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import { aliasesOf } from './aliases.ts'
import type { Vector } from './cvss.ts'
import { parseSeverity } from './cvss.ts'
import { typeOfEcosystem } from './ecosystems.ts'
import { approvedEvent, manualDetection } from './events.ts'
import type { ImportedAdvisory } from './imported-advisory.ts'
import type { Fields } from './json-fields.ts'
import { fieldsOf, labelIn, listIn, textIn, timeIn } from './json-fields.ts'
import { maxEvents, maxLength, maxSeverities } from './limits.ts'
import type { AffectedPackage } from './osv-packages.ts'
import { packagesIn, requireSize, storedRecords } from './osv-packages.ts'
import { fixesOf } from './osv-ranges.ts'
import { parsePurl } from './purl.ts'
import { RecordError } from './record-error.ts'

/** Returns an advisory for each package. `text` is the JSON that `value` was parsed from, if available. */
export function readOsv(value: unknown, text?: string): ImportedAdvisory[] {
  if (text !== undefined) requireSize(text)
  const record = fieldsOf(value, 'the record')
  const id = labelIn(record, 'id', '', maxLength.recordId)
  const modified = timeIn(record, 'modified', '')
  if (modified === undefined) throw new RecordError('modified must be a time such as 2026-01-02T03:04:05Z')
  const createTime = timeIn(record, 'published', '') ?? modified
  const updateTime = Math.max(modified, createTime)
  const withdrawTime = timeIn(record, 'withdrawn', '')
  const otherNames = [...namesIn(record, 'aliases'), ...namesIn(record, 'upstream')]
  const vectors = vectorsIn(record, '')
  const packages = packagesIn(record)
  const records = storedRecords(record, packages, text)
  // An advisory id belongs to one artifact. In a record about several packages, it becomes an alias of each advisory.
  const isOwnId = packages.length === 1 && isAdvisoryId(id)
  const names = isOwnId
    ? { advisoryId: id, aliases: aliasesOf(otherNames) }
    : { advisoryId: '', aliases: aliasesOf([id, ...otherNames]) }
  const author = authorOf(id)
  return packages.map((affected, index) => ({
    source: `osv:${id}:${affected.ecosystem}/${affected.name}`,
    record: records[index] ?? '',
    draft: create(AdvisorySchema, {
      ...{ author, ...names },
      artifactName: affected.name,
      artifactType: typeOfEcosystem(affected.ecosystem),
      events: eventsOf(affected, author, createTime, updateTime),
      severities: severitiesOf(affected, vectors),
    }),
    origin: affected.purl.includes('upstream=') ? (parsePurl(affected.purl)?.origin ?? '') : '',
    ...{ createTime, updateTime, withdrawTime },
  }))
}

/** The database that published the record: `GHSA` for `GHSA-xxxx-xxxx-xxxx`. */
const authorOf = (id: string) => id.slice(0, Math.max(0, id.indexOf('-'))) || 'OSV'

function namesIn(record: Fields, key: string): string[] {
  return listIn(record, key, '').map((name, index) => {
    if (typeof name !== 'string') throw new RecordError(`${key}[${index}] must be a string`)
    return name
  })
}

function eventsOf(
  affected: AffectedPackage,
  author: string,
  createTime: number,
  updateTime: number,
): AdvisoryEvent[] {
  const detection = approvedEvent(author, createTime, manualDetection)
  const fixes = fixesOf(affected).slice(1 - maxEvents) // the detection is an event too
  if (fixes.length === 0)
    return [detection, approvedEvent(author, createTime, { case: 'truePositiveDetermination', value: {} })]
  const fixedEvents = fixes.map((fixedVersion) =>
    approvedEvent(author, updateTime, { case: 'fixed', value: { fixedVersion } }),
  )
  return [detection, ...fixedEvents]
}

/** The severities of the package or, if it has none, those of the record. */
function severitiesOf({ entries }: AffectedPackage, recordVectors: Vector[]): Vector[] {
  const packageVectors = entries.flatMap(({ entry, path }) => vectorsIn(entry, path))
  return (packageVectors.length > 0 ? packageVectors : recordVectors).slice(0, maxSeverities)
}

/** The CVSS vectors in `severity`, without duplicates. */
function vectorsIn(fields: Fields, path: string): Vector[] {
  const vectors = new Map<string, Vector>()
  listIn(fields, 'severity', path).forEach((item, index) => {
    const itemPath = `${path}severity[${index}]`
    const severity = fieldsOf(item, itemPath)
    const type = textIn(severity, 'type', `${itemPath}.`) ?? ''
    const score = textIn(severity, 'score', `${itemPath}.`) ?? ''
    const vector = parseSeverity(type, score)
    if (vector) vectors.set(score, vector)
  })
  return [...vectors.values()]
}
