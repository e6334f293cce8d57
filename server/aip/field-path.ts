// Paths of fields in a message, such as `claim_match.issuer`, in proto or JSON spelling.
import type { DescField, DescMessage } from '@bufbuild/protobuf'

const leafTypes = new Set([
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
  'google.protobuf.FieldMask',
])

/** Whether paths can lead into this field. */
export function isBranch(field: DescField): field is DescField & { fieldKind: 'message' } {
  return field.fieldKind === 'message' && !leafTypes.has(field.message.typeName)
}

/**
 * Finds a field by its name in the proto, in JSON or in camelCase (`localName`). ProtoJSON uses
 * camelCase in masks, even if the field declares another JSON name.
 */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find(
    (field) => field.name === name || field.jsonName === name || field.localName === name,
  )
}

/** The fields of a path, from the outermost to the innermost; undefined if there is no such path. */
export function resolvePath(desc: DescMessage, path: string): DescField[] | undefined {
  const fields: DescField[] = []
  let current: DescMessage | undefined = desc
  for (const name of path.split('.')) {
    const field: DescField | undefined = current && findField(current, name)
    if (!field) return undefined
    fields.push(field)
    current = isBranch(field) ? field.message : undefined
  }
  return fields
}

/**
 * Converts a path to JSON spelling: `claim_match.issuer_pattern` becomes `claimMatch.issuerPattern`. Indexes and keys
 * in brackets are not converted.
 */
export const toCamel = (path: string) =>
  path.replace(/\[[^\]]*\]|_([a-z0-9])/g, (all, letter?: string) => letter?.toUpperCase() ?? all)

/**
 * The JSON spelling of the path of a field in a message. Names that the message does not have, such as those of other
 * parts of the request, are converted with `toCamel`.
 */
export function jsonPathOf(desc: DescMessage, path: string): string {
  let current: DescMessage | undefined = desc
  // Dots in brackets belong to an index or key.
  return path.replace(/([^.[\]]+)((?:\[[^\]]*\])*)(\.|$)/g, (_, name: string, index: string, dot: string) => {
    const field: DescField | undefined = current?.fields.find((candidate) => candidate.name === name)
    current = field?.message
    return (field?.jsonName ?? toCamel(name)) + index + dot
  })
}
