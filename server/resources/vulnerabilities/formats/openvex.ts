// OpenVEX documents 0.2.0: https://github.com/openvex/spec.
import { create } from '@bufbuild/protobuf'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import { latestApproved } from '../event-type.ts'
import type { Imported } from './imported.ts'
import { approvedEvent, mostEvents, RecordError } from './imported.ts'
import { aliasesOf } from './names.ts'
import type { Claim } from './openvex-claims.ts'
import { claimsOf } from './openvex-claims.ts'
import { anyPurlOf, purlOf } from './purl.ts'
import { fieldsOf, labelIn, timeIn } from './record-fields.ts'
import { millisecondsOf, timeText } from './time-text.ts'
import { saidBy } from './vex-status.ts'

const context = 'https://openvex.dev/ns/v0.2.0'

/** One for each vulnerability and product; statements about the same follow on each other. */
export function readOpenVex(value: unknown): Imported[] {
  const document = fieldsOf(value, 'the document')
  const id = labelIn(document, '@id', '', 1024)
  const author = labelIn(document, 'author', '', 255)
  const time = timeIn(document, 'timestamp', '')
  if (time === undefined) throw new RecordError('timestamp must be a time such as 2026-01-02T03:04:05Z')
  const bySource = Map.groupBy(claimsOf(document, time), ({ about }) => `openvex:${id}:${about}`)
  // A name of ours is for one artifact.
  const names = Map.groupBy([...bySource.values()], ([claim]) => claim?.name)
  return [...bySource].map(([source, claims]) => {
    const isShared = (names.get(claims[0]?.name)?.length ?? 0) > 1
    return importedOf(
      source,
      claims,
      { '@context': context, '@id': id, author, timestamp: timeText(time) },
      isShared,
    )
  })
}

type Head = { '@context': string; '@id': string; author: string; timestamp: string }

function importedOf(source: string, claims: Claim[], head: Head, isShared: boolean): Imported {
  claims.sort((a, b) => a.time - b.time)
  const [first] = claims as [Claim] // a group is never empty
  const { name, artifact, component } = first
  const { author } = head
  const isOurs = isAdvisoryId(name) && !isShared
  const names = claims.flatMap(({ aliases }) => aliases)
  return {
    source,
    record: JSON.stringify({ ...head, version: 1, statements: claims.map(({ statement }) => statement) }),
    draft: create(AdvisorySchema, {
      ...{ author, artifactName: artifact.name, artifactType: artifact.type },
      ...{ componentName: component?.name ?? '', componentType: component?.type ?? '' },
      ...{ advisoryId: isOurs ? name : '', aliases: aliasesOf(isOurs ? names : [name, ...names]) },
      events: claims.slice(-mostEvents).map((claim) => approvedEvent(author, claim.time, claim.happening)),
    }),
    origin: artifact.origin,
    createTime: first.time,
    updateTime: claims.reduce((latest, claim) => Math.max(latest, claim.updated), first.time),
    withdrawTime: undefined,
  }
}

/** A document says something, so there must be an advisory at least. */
export function writeOpenVex(
  advisories: readonly Advisory[],
  about: { id: string; author: string; timestamp: number; version: number },
): object {
  return {
    '@context': context,
    '@id': about.id,
    author: about.author,
    timestamp: timeText(about.timestamp),
    version: about.version,
    statements: advisories.flatMap(statementsOf),
  }
}

function statementsOf(advisory: Advisory): object[] {
  const { advisoryId, aliases } = advisory
  const event = latestApproved(advisory)
  const { status, versions, text } = saidBy(event)
  const said = {
    timestamp: timeText(millisecondsOf(event?.createTime ?? advisory.updateTime)),
    products: productsOf(advisory, versions),
    status,
    ...text,
  }
  const names = [...new Set(aliases)].filter((alias) => alias !== advisoryId)
  if (names.length === 0) return [{ vulnerability: { name: advisoryId }, ...said }]
  return names.map((name) => ({ vulnerability: { name, aliases: [advisoryId] }, ...said }))
}

function productsOf(advisory: Advisory, versions: readonly string[]): object[] {
  const { artifactName, artifactType, componentName, componentType } = advisory
  const part = componentName === '' ? undefined : purlOf(componentType, componentName)
  const ids = (versions.length > 0 ? versions : ['']).map((version) =>
    anyPurlOf(artifactType, artifactName, version),
  )
  return [...new Set(ids)].map((id) => ({ '@id': id, ...(part && { subcomponents: [{ '@id': part }] }) }))
}
