// Names of enums as people write them: without what they all begin with, in small letters.
import type { DescEnum } from '@bufbuild/protobuf'
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

export const enumNames = (desc: DescEnum): string[] => chosen(desc).map(({ name }) => shortName(desc, name))

export const shortName = (desc: DescEnum, name: string): string =>
  name
    .slice(name.startsWith(prefixOf(desc)) ? prefixOf(desc).length : 0)
    .replaceAll('_', '-')
    .toLowerCase()

/** `fixed`, `FIXED`, `event-type-filter-fixed` and `groups.list` are all understood. */
export function enumValue(desc: DescEnum, text: string): string {
  const wanted = text.toUpperCase().replaceAll(/[-. ]/g, '_')
  const found = desc.values.find(({ name }) => name === wanted || name === prefixOf(desc) + wanted)
  if (found) return found.name
  const names = enumNames(desc)
  throw new UsageError(
    names.length > 20
      ? `has no value ${JSON.stringify(text)}; one is ${names[0]}`
      : `must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}, not ${JSON.stringify(text)}`,
  )
}
