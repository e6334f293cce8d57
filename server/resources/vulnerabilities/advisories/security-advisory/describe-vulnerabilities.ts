// Describes vulnerabilities by the OSV records that their advisories were imported from.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type {
  Severity_Type,
  SeveritySchema,
  VulnerabilityMetadata,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { VulnerabilityMetadataSchema } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { documentNumberOf } from '../../../../store/postings/numbering.ts'
import { among, sql } from '../../../../store/sql.ts'
import { readBytes } from '../../../../store/table.ts'
import type { Work } from '../../../../store/work.ts'
import { all } from '../../../../store/work.ts'
import { messageOf } from '../../../kind.ts'
import { advisories } from '../table.ts'
import type { Vulnerability } from './find-vulnerabilities.ts'
import { osvMetadataOf } from './osv-metadata.ts'

/** A record, identified by the advisory that was imported from it and by its name; `size` is its number of characters. */
type Source = { uid: string; name: string; size: number }

/** A vulnerability with the advisory and the record that describe it. */
type Choice = { id: string; uid: string; source: Source | undefined }

/**
 * Describes these vulnerabilities in order, as long as their records have at most `maxSize`
 * characters together, but always the first one. If it leaves some out, the returned `size` is
 * greater than `maxSize`.
 */
export function* describeVulnerabilities(
  found: readonly Vulnerability[],
  maxSize: number,
): Work<{ metadata: VulnerabilityMetadata[]; size: number }> {
  const sources = yield* readSources(found)
  const { choices, size } = choicesThatFit(
    found.map((vulnerability) => choose(vulnerability, sources)),
    maxSize,
  )
  const records = yield* readRecords(choices.flatMap(({ source }) => source ?? []))
  const rows = yield* readBytes(advisories.table, [...new Set(choices.map(({ uid }) => uid))])
  const metadata = choices.map(({ id, uid, source }) => {
    const record = source && records.get(keyOf(source.uid, source.name))
    return create(VulnerabilityMetadataSchema, {
      ...{ id, severities: severitiesOf(rows.get(uid)) },
      ...(record !== undefined && osvMetadataOf(record)),
    })
  })
  return { metadata, size }
}

/** Prefers a record about the vulnerability itself to a record that has it as an alias. */
function choose({ id, uids }: Vulnerability, sources: ReadonlyMap<string, Source[]>): Choice {
  const candidates = uids.flatMap((uid) => sources.get(uid) ?? [])
  const source = candidates.find(({ name }) => name.startsWith(`osv:${id}:`)) ?? candidates[0]
  return { id, uid: source?.uid ?? uids[0] ?? '', source }
}

/** `size` includes the first choice that does not fit. */
function choicesThatFit(all: readonly Choice[], maxSize: number): { choices: Choice[]; size: number } {
  const choices: Choice[] = []
  let size = 0
  for (const choice of all) {
    size += choice.source?.size ?? 0
    if (size > maxSize && choices.length > 0) break
    choices.push(choice)
  }
  return { choices, size }
}

/** The OSV records of the advisories of these vulnerabilities, by the uid of the advisory. */
function* readSources(found: readonly Vulnerability[]): Work<Map<string, Source[]>> {
  const uids = new Set(found.flatMap((vulnerability) => vulnerability.uids))
  if (uids.size === 0) return new Map()
  const rows = yield* all(sql`select advisory, source, length(record) from advisory_sources
    where number in ${among([...uids].map(documentNumberOf))} and format = 'osv' order by source`)
  const sources = (rows as [string, string, number][]).map(([uid, name, size]) => ({ uid, name, size }))
  return Map.groupBy(sources, ({ uid }) => uid)
}

/** Records by `keyOf`. */
function* readRecords(sources: readonly Source[]): Work<Map<string, string>> {
  if (sources.length === 0) return new Map()
  const rows = yield* all(sql`select advisory, source, record from advisory_sources
    where number in ${among(sources.map(({ uid }) => documentNumberOf(uid)))}
    and source in ${among(sources.map(({ name }) => name))}`)
  return new Map(
    (rows as [string, string, string][]).map(([uid, name, record]) => [keyOf(uid, name), record]),
  )
}

const keyOf = (uid: string, name: string) => `${uid} ${name}`

function severitiesOf(row: Uint8Array | undefined): MessageInitShape<typeof SeveritySchema>[] {
  const { severities = [] } = row ? messageOf(advisories, row) : {}
  // Both enums have the same numbers.
  return severities.map(({ type, score }) => ({ type: type as number as Severity_Type, score }))
}
