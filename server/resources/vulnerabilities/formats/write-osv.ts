// Writes advisories as OSV records: https://ossf.github.io/osv-schema.
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import { isApproved, latestDecision } from '../event-type.ts'
import { osvSeverities } from './cvss.ts'
import { ecosystemOf, typeOfEcosystem } from './ecosystems.ts'
import type { Affected } from './osv-ranges.ts'
import { rangeUpTo, withFix, withoutVersions } from './osv-ranges.ts'
import { purlOf } from './purl.ts'
import { formatTime, millisecondsOf } from './times.ts'

type OsvRecord = {
  id: string
  modified: string
  withdrawn?: string
  aliases?: readonly string[] | null
  affected?: readonly Affected[] | null
}

/**
 * If the advisory was imported from an OSV record, the result is that record with later changes. `importTime` is the
 * advisory's update time at the import; people have changed the advisory if its update time is later.
 */
export function writeOsv(
  advisory: Advisory,
  source?: { format: string; record: string },
  importTime?: number,
): object {
  if (source?.format !== 'osv') return newRecord(advisory)
  // Records are stored only after they were read successfully.
  const { withdrawn, ...record } = JSON.parse(source.record) as OsvRecord
  const changeTime = millisecondsOf(advisory.updateTime)
  const isRevised = importTime !== undefined && changeTime > importTime
  return {
    ...record,
    ...renamed(record, advisory),
    ...(isRevised && changeTime > Date.parse(record.modified) && { modified: formatTime(changeTime) }),
    ...(advisory.deleteTime && { withdrawn: withdrawn ?? formatTime(millisecondsOf(advisory.deleteTime)) }),
    affected: affectedFrom(record.affected ?? [], advisory),
  }
}

/**
 * An advisory id belongs to one artifact. If a record about several packages has one as its id, `readOsv` makes
 * it an alias, and each advisory has a new id. Exports contain the new ids: if all had the record's id, an import would
 * read them as one advisory.
 */
function renamed({ id, aliases }: OsvRecord, { advisoryId }: Advisory): Partial<OsvRecord> {
  return isAdvisoryId(id) && id !== advisoryId ? { id: advisoryId, aliases: [id, ...(aliases ?? [])] } : {}
}

function affectedFrom(recordEntries: readonly Affected[], advisory: Advisory): readonly Affected[] {
  const { artifactName, artifactType } = advisory
  const entries = recordEntries.filter(
    (entry) =>
      entry.package?.name === artifactName && typeOfEcosystem(entry.package.ecosystem) === artifactType,
  )
  if (entries.length === 0) return [newEntry(advisory)]
  return isNotAffected(advisory) ? entries.map(withoutVersions) : withFix(entries, fixedVersionOf(advisory))
}

const isNotAffected = (advisory: Advisory) =>
  latestDecision(advisory)?.type.case === 'falsePositiveDetermination'

/**
 * The version of the latest approved event that is neither a detection nor the move of a component, if that event is a
 * fix; otherwise ''.
 */
function fixedVersionOf({ events }: Advisory): string {
  const latest = events.findLast(
    (event) =>
      isApproved(event) && event.type.case !== 'detection' && event.type.case !== 'componentLocationChanged',
  )
  if (latest?.type.case === 'fixed') return latest.type.value.fixedVersion
  return latest?.type.case === 'patched' ? (latest.type.value.patchedVersions[0] ?? '') : ''
}

function newRecord(advisory: Advisory): object {
  const { advisoryId, aliases, createTime, updateTime, deleteTime } = advisory
  const severity = osvSeverities(advisory.severities)
  // As in the records of distributions, ids of the vulnerability are in `upstream`, not in `aliases`.
  const upstream = [...new Set(aliases)].filter((alias) => alias !== advisoryId)
  return {
    schema_version: '1.7.5',
    id: advisoryId,
    modified: formatTime(millisecondsOf(updateTime ?? createTime)),
    ...(createTime && { published: formatTime(millisecondsOf(createTime)) }),
    ...(deleteTime && { withdrawn: formatTime(millisecondsOf(deleteTime)) }),
    ...(upstream.length > 0 && { upstream }),
    ...(severity.length > 0 && { severity }),
    affected: [newEntry(advisory)],
  }
}

function newEntry(advisory: Advisory): Affected {
  const entry = packageOf(advisory)
  return isNotAffected(advisory) ? entry : { ...entry, ranges: [rangeUpTo(fixedVersionOf(advisory))] }
}

/** The schema has a closed list of ecosystems. Other artifacts are named in `database_specific`, which is free-form. */
function packageOf({ artifactName: name, artifactType: type }: Advisory) {
  const ecosystem = ecosystemOf(type)?.osv
  if (!ecosystem) return { database_specific: { artifact_type: type, artifact_name: name } }
  const purl = purlOf(type, name)
  return { package: { ecosystem, name, ...(purl && { purl }) } }
}
