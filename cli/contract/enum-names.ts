// Names of enum values on the command line: lower case, without the prefix that all values of the enum share.
import type { DescEnum, DescEnumValue } from '@bufbuild/protobuf'
import { getOption, hasOption } from '@bufbuild/protobuf'
import { info } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { UsageError } from '../failure.ts'

/** Help and errors do not list the names of an enum that has more names than this. */
export const maxListedNames = 20
const maxSimilarNames = 10

/** All names except that of the zero value, which means "not set". */
export function enumNames(desc: DescEnum): string[] {
  const prefix = prefixOf(desc)
  return settableValues(desc).map((value) => shortNameOf(value, prefix))
}

/** The short name of a value. A value that only a newer server knows is returned unchanged. */
export function shortName(desc: DescEnum, name: string): string {
  const value = settableValues(desc).find((candidate) => candidate.name === name)
  return value ? shortNameOf(value, prefixOf(desc)) : name
}

/** Parses a name. `fixed`, `FIXED` and `EVENT_TYPE_FILTER_FIXED` are the same value. */
export function parseEnumValue(desc: DescEnum, text: string): string {
  const prefix = prefixOf(desc)
  const name = text.toUpperCase().replaceAll(/[- ]/g, '_')
  const value = desc.values.find(
    (candidate) =>
      candidate.name === name || candidate.name === prefix + name || shortNameOf(candidate, prefix) === text,
  )
  if (value) return value.name
  throw unknownValue(enumNames(desc), text)
}

const settableValues = (desc: DescEnum) => desc.values.filter(({ number }) => number !== 0)

function prefixOf(desc: DescEnum): string {
  const names = settableValues(desc).map(({ name }) => name)
  const [first = ''] = names
  let prefix = first.slice(0, first.lastIndexOf('_') + 1)
  while (prefix !== '' && !names.every((name) => name.startsWith(prefix)))
    prefix = prefix.slice(0, prefix.lastIndexOf('_', prefix.length - 2) + 1)
  return prefix
}

/** Capabilities have names of their own in the contract, such as `groups.list`. */
function shortNameOf(value: DescEnumValue, prefix: string): string {
  if (hasOption(value, info)) return getOption(value, info).name
  return value.name.slice(prefix.length).replaceAll('_', '-').toLowerCase()
}

function unknownValue(names: string[], text: string): UsageError {
  const quoted = JSON.stringify(text)
  if (names.length <= maxListedNames)
    return new UsageError(`must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}, not ${quoted}`)
  const [first = ''] = text.split('.')
  const similar = names.filter((name) => name.startsWith(`${first}.`)).slice(0, maxSimilarNames)
  const hint = similar.length > 0 ? `similar values: ${similar.join(', ')}` : `an example is ${names[1]}`
  return new UsageError(`${quoted} is not a known value; ${hint}`)
}
