// The parameter names that a call accepts in its query, for the error about an unknown parameter.
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { nearestNames } from '@stemma/api/nearest-names.ts'
import type { StatusError } from '../../aip/errors.ts'
import { invalidField } from '../../aip/errors.ts'
import { isBranch, toCamel } from '../../aip/field-path.ts'

/** The maximum number of parts of a suggested name. `uidp.children_of` has two; the contract has no deeper names. */
const maxDepth = 3
/** The maximum number of names in an error. */
const maxNames = 200

/** The error for a parameter that the call does not have. `name` comes from the caller and may be long. */
export function unknownParameter(
  desc: DescMessage,
  name: string,
  isBound: (path: string) => boolean,
): StatusError {
  const names = namesOf(desc, isBound)
  const field = name.slice(0, 100).toWellFormed()
  const similar = nearestNames(name, [...new Set([...names, ...names.map(toCamel)])])
  const [nearest] = similar
  return invalidField(
    field,
    nearest === undefined
      ? `is not a parameter of this call${listOf(names)}`
      : `is not a parameter of this call; did you mean ${similar.join(' or ')}?`,
  )
}

const listOf = (names: string[]) =>
  names.length === 0 ? ', which has no query parameters' : `; its parameters are ${names.join(', ')}`

function namesOf(desc: DescMessage, isBound: (path: string) => boolean, prefix = '', depth = 1): string[] {
  const namesIn = (field: DescField): string[] => {
    const path = prefix + field.name
    if (isBound(path)) return []
    if (!isBranch(field)) return [path]
    return depth < maxDepth ? namesOf(field.message, isBound, `${path}.`, depth + 1) : []
  }
  return desc.fields.flatMap(namesIn).slice(0, maxNames)
}
