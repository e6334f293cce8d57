// Reads OpenVEX documents 0.2.0: https://github.com/openvex/spec.
import { create } from '@bufbuild/protobuf'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import { aliasesOf } from './aliases.ts'
import { approvedEvent } from './events.ts'
import type { ImportedAdvisory } from './imported-advisory.ts'
import { fieldsOf, labelIn, timeIn } from './json-fields.ts'
import { maxEvents, maxLength, maxStoredCharacters } from './limits.ts'
import type { Claim } from './openvex-claims.ts'
import { claimsOf } from './openvex-claims.ts'
import { openVexContext } from './openvex-status.ts'
import { RecordError } from './record-error.ts'
import { formatTime } from './times.ts'

/**
 * Returns an advisory for each combination of a vulnerability, a product and a component (if there
 * is one). Its events are the statements about that combination.
 */
export function readOpenVex(value: unknown): ImportedAdvisory[] {
  const document = fieldsOf(value, 'the document')
  const id = labelIn(document, '@id', '', maxLength.documentId)
  const author = labelIn(document, 'author', '', maxLength.author)
  const time = timeIn(document, 'timestamp', '')
  if (time === undefined) throw new RecordError('timestamp must be a time such as 2026-01-02T03:04:05Z')
  const head = { '@context': openVexContext, '@id': id, author, timestamp: formatTime(time) }
  const bySource = Map.groupBy(claimsOf(document, time), ({ subject }) => `openvex:${id}:${subject}`)
  const byName = Map.groupBy([...bySource.values()], ([claim]) => claim?.name)
  let characters = 0
  return [...bySource].map(([source, claims]) => {
    const isSharedName = (byName.get(claims[0]?.name)?.length ?? 0) > 1
    const advisory = advisoryOf(source, claims, head, isSharedName)
    characters += advisory.record.length
    if (characters > maxStoredCharacters)
      throw new RecordError('the statements name too many products for their size')
    return advisory
  })
}

type Head = { '@context': string; '@id': string; author: string; timestamp: string }

function advisoryOf(source: string, claims: Claim[], head: Head, isSharedName: boolean): ImportedAdvisory {
  claims.sort((a, b) => a.time - b.time)
  const [first] = claims as [Claim] // a group is never empty
  const { name, artifact, component } = first
  const { author } = head
  // An advisory id belongs to one artifact. If the document uses it for several, it becomes an alias of each advisory.
  const isOwnId = isAdvisoryId(name) && !isSharedName
  const otherNames = claims.flatMap(({ aliases }) => aliases)
  return {
    source,
    record: JSON.stringify({ ...head, version: 1, statements: claims.map(({ statement }) => statement) }),
    draft: create(AdvisorySchema, {
      ...{ author, artifactName: artifact.name, artifactType: artifact.type },
      ...{ componentName: component?.name ?? '', componentType: component?.type ?? '' },
      advisoryId: isOwnId ? name : '',
      aliases: aliasesOf(isOwnId ? otherNames : [name, ...otherNames]),
      events: claims.slice(-maxEvents).map((claim) => approvedEvent(author, claim.time, claim.eventType)),
    }),
    origin: artifact.origin,
    createTime: first.time,
    updateTime: claims.reduce((latest, claim) => Math.max(latest, claim.updateTime), first.time),
    withdrawTime: undefined,
  }
}
