// The flags of a command, from the fields of its request.
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { isOutputOnly, isScope, rulesOf } from '@stemma/api/method.ts'
import { parentOf } from '../names/kinds.ts'
import type { Command } from './commands.ts'
import { resources } from './commands.ts'
import { kebab, singular } from './spelling.ts'

export type Flag = {
  name: string
  /** How else it may be written. */
  alias?: string
  /** From the request to the field. */
  path: DescField[]
  field: DescField
  /** The resource that is meant, by name or by uid. */
  refersTo: string | undefined
}

/** Messages that are one value on a command line. */
const values = new Set(['google.protobuf.Timestamp', 'google.protobuf.Duration', 'google.protobuf.FieldMask'])

/** A stream takes what its list takes, but has no pages. */
const ofPages = new Set(['page_size', 'page_token', 'skip'])

const known = new WeakMap<Command, Flag[]>()

export function flagsOf(command: Command): Flag[] {
  const found = known.get(command) ?? walk(command, command.method.desc.input, [], '')
  known.set(command, found)
  return found
}

function walk(command: Command, message: DescMessage, above: DescField[], prefix: string): Flag[] {
  return message.fields.flatMap((field): Flag[] => {
    const path = [...above, field]
    if (isOutputOnly(field) || rulesOf(field).operatorOnly || isTarget(command, path)) return []
    if (command.kind === 'stream' && ofPages.has(field.name)) return []
    if (!isWalked(field)) return [flagOf(command, path, prefix)]
    const isPlain = field === command.method.resource || field.name === 'uidp'
    return walk(command, field.message, path, isPlain ? prefix : `${prefix}${kebab(field.name)}.`)
  })
}

const isTarget = ({ target }: Command, path: DescField[]) =>
  target.length === path.length && target.every((field, at) => field === path[at])

export const isWalked = (field: DescField): field is DescField & { fieldKind: 'message' } =>
  field.fieldKind === 'message' && !values.has(field.message.typeName)

function flagOf(command: Command, path: DescField[], prefix: string): Flag {
  const field = path.at(-1)
  if (!field) throw new Error('a flag has a field')
  const name = prefix + kebab(field.name)
  const refersTo = isUid(field) ? resourceMeant(command, field) : undefined
  const short = name.replace(/-uid$/, '')
  return { name: short, path, field, refersTo, ...(short !== name && { alias: name }) }
}

export const isUid = (field: DescField): boolean =>
  rulesOf(field).uid || (isScope(field) && field.fieldKind === 'scalar')

/** The resource whose uid a field contains: the one it is named after, or the parent. */
export function resourceMeant({ resource }: Command, { name }: DescField): string {
  const word = kebab(name.replace(/^default_|_uid$/g, ''))
  if (['uid', 'ids', 'ancestors-of'].includes(word)) return resource
  if (word === 'descendants-of') return 'groups'
  return resources.find((candidate) => singular(candidate.name) === word)?.name ?? parentOf(resource)
}
