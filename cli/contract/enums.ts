// Names of enums as people write them: without what they all begin with, in small letters.
import type { DescEnum, DescEnumValue } from '@bufbuild/protobuf'
import { getOption, hasOption } from '@bufbuild/protobuf'
import { info } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { UsageError } from '../usage.ts'

const prefixes = new WeakMap<DescEnum, string>()

function prefixOf(desc: DescEnum): string {
  const known = prefixes.get(desc)
  if (known !== undefined) return known
  const names = chosen(desc).map(({ name }) => name)
  const [first = ''] = names
  let prefix = first.slice(0, first.lastIndexOf('_') + 1)
  while (prefix !== '' && !names.every((name) => name.startsWith(prefix)))
    prefix = prefix.slice(0, prefix.lastIndexOf('_', prefix.length - 2) + 1)
  prefixes.set(desc, prefix)
  return prefix
}

/** Nobody chooses the one that stands for nothing. */
const chosen = (desc: DescEnum) => desc.values.filter(({ number }) => number !== 0)

export const enumNames = (desc: DescEnum): string[] => chosen(desc).map((value) => spoken(desc, value))

/** As people write it; capabilities have dotted names of their own, such as `groups.list`. */
function spoken(desc: DescEnum, value: DescEnumValue): string {
  if (hasOption(value, info)) return getOption(value, info).name
  return value.name.slice(prefixOf(desc).length).replaceAll('_', '-').toLowerCase()
}

/** What a server says that knows more values than this client is shown as it is. */
export function shortName(desc: DescEnum, name: string): string {
  const value = chosen(desc).find((one) => one.name === name)
  return value ? spoken(desc, value) : name
}

/** `fixed`, `FIXED` and `EVENT_TYPE_FILTER_FIXED` are all understood. */
export function enumValue(desc: DescEnum, text: string): string {
  const wanted = text.toUpperCase().replaceAll(/[- ]/g, '_')
  const found = desc.values.find(
    (value) =>
      value.name === wanted || value.name === prefixOf(desc) + wanted || spoken(desc, value) === text,
  )
  if (found) return found.name
  const names = enumNames(desc)
  throw new UsageError(
    names.length > 20
      ? `has no value ${JSON.stringify(text)}${likely(names, text)}`
      : `must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}, not ${JSON.stringify(text)}`,
  )
}

function likely(names: string[], text: string): string {
  const [first = ''] = text.split('.')
  const close = names.filter((name) => name.startsWith(`${first}.`)).slice(0, 10)
  return close.length === 0 ? `; one is ${names[1]}` : `; there is ${close.join(', ')}`
}
