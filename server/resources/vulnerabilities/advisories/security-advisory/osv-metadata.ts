// Reads the texts and links of an OSV record: https://ossf.github.io/osv-schema.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ReferenceSchema } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { Reference_Type } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'

export type OsvMetadata = {
  summary: string
  details: string
  references: MessageInitShape<typeof ReferenceSchema>[]
}

/** `record` is JSON. An import checks only the fields that it reads, so these may have any type. */
export function osvMetadataOf(record: string): OsvMetadata {
  const { summary, details, references } = JSON.parse(record) as Record<string, unknown>
  return {
    summary: textOf(summary),
    details: textOf(details),
    references: Array.isArray(references) ? references.flatMap(referenceOf) : [],
  }
}

/** A message contains only well-formed Unicode; a JSON string may contain half of a surrogate pair. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value.toWellFormed() : '')

const types = new Map<unknown, Reference_Type>([
  ['ADVISORY', Reference_Type.ADVISORY],
  ['ARTICLE', Reference_Type.ARTICLE],
  ['DETECTION', Reference_Type.DETECTION],
  ['DISCUSSION', Reference_Type.DISCUSSION],
  ['REPORT', Reference_Type.REPORT],
  ['FIX', Reference_Type.FIX],
  ['INTRODUCED', Reference_Type.INTRODUCED],
  ['PACKAGE', Reference_Type.PACKAGE],
  ['EVIDENCE', Reference_Type.EVIDENCE],
  ['WEB', Reference_Type.WEB],
])

function referenceOf(value: unknown): MessageInitShape<typeof ReferenceSchema>[] {
  const { type, url } = (value ?? {}) as Record<string, unknown> // every value but null and undefined has properties
  const address = textOf(url)
  return address === '' ? [] : [{ type: types.get(type) ?? Reference_Type.UNSPECIFIED, url: address }]
}
