// Writes advisories as OpenVEX documents 0.2.0: https://github.com/openvex/spec.
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { latestDecision } from '../event-type.ts'
import { openVexContext, statusOf } from './openvex-status.ts'
import { purlOf, purlOrGeneric } from './purl.ts'
import { formatTime, millisecondsOf } from './times.ts'

/** `timestamp` is in milliseconds since 1970. */
export type DocumentHead = { id: string; author: string; timestamp: number; version: number }

/** There must be at least one advisory, because a document needs a statement. */
export function writeOpenVex(advisories: readonly Advisory[], head: DocumentHead): object {
  return {
    '@context': openVexContext,
    '@id': head.id,
    author: head.author,
    timestamp: formatTime(head.timestamp),
    version: head.version,
    statements: advisories.flatMap(statementsOf),
  }
}

/** One statement for each alias or, without aliases, one for the advisory id. */
function statementsOf(advisory: Advisory): object[] {
  const { advisoryId, aliases } = advisory
  const event = latestDecision(advisory)
  const { status, versions, otherFields } = statusOf(event)
  const content = {
    timestamp: formatTime(millisecondsOf(event?.createTime ?? advisory.updateTime)),
    products: productsOf(advisory, versions),
    status,
    ...otherFields,
  }
  const names = [...new Set(aliases)].filter((alias) => alias !== advisoryId)
  if (names.length === 0) return [{ vulnerability: { name: advisoryId }, ...content }]
  return names.map((name) => ({ vulnerability: { name, aliases: [advisoryId] }, ...content }))
}

function productsOf(advisory: Advisory, versions: readonly string[]): object[] {
  const { artifactName, artifactType, componentName, componentType } = advisory
  const component = componentName === '' ? undefined : purlOf(componentType, componentName)
  const purls = (versions.length > 0 ? versions : ['']).map((version) =>
    purlOrGeneric(artifactType, artifactName, version),
  )
  return [...new Set(purls)].map((purl) => ({
    '@id': purl,
    ...(component && { subcomponents: [{ '@id': component }] }),
  }))
}
