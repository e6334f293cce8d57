// The flags of a command, derived from the fields of its request.
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { isOutputOnly, rulesOf } from '@stemma/api/method.ts'
import { parentOf } from '../names/naming.ts'
import type { Command } from './commands.ts'
import { resources } from './commands.ts'
import { kebab, singular } from './spelling.ts'
import { isUid } from './uid-fields.ts'

export type Flag = {
  name: string
  /** A second name: `--role-uid` for `--role`. */
  alias?: string
  /** The path of fields from the request to `field`. */
  path: DescField[]
  field: DescField
  /** The resource whose name or uid is the value. Undefined if the field does not contain a uid. */
  refersTo: string | undefined
}

/** Messages that have a text form on the command line. */
const textMessages = new Set([
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
  'google.protobuf.FieldMask',
])

/** Fields that have no flag in commands of streams: streams have the request message of lists, but no pages. */
const pageFields = new Set(['page_size', 'page_token', 'skip'])

export const flagsOf = (command: Command): Flag[] =>
  flagsOfMessage(command, command.method.desc.input, [], '')

function flagsOfMessage(
  command: Command,
  message: DescMessage,
  parents: DescField[],
  prefix: string,
): Flag[] {
  return message.fields.flatMap((field): Flag[] => {
    const path = [...parents, field]
    if (isOutputOnly(field) || rulesOf(field).operatorOnly || isTarget(command, path)) return []
    if (command.kind === 'stream' && pageFields.has(field.name)) return []
    if (!hasNestedFields(field)) return [createFlag(command, path, prefix)]
    const isWithoutPrefix = field === command.method.resource || field.name === 'uidp'
    const fieldPrefix = isWithoutPrefix ? prefix : `${prefix}${kebab(field.name)}.`
    return flagsOfMessage(command, field.message, path, fieldPrefix)
  })
}

const isTarget = ({ target }: Command, path: DescField[]) =>
  target.length === path.length && target.every((field, index) => field === path[index])

/** Whether the fields of a message have flags of their own, such as `--oidc.issuer`. */
export const hasNestedFields = (field: DescField): field is DescField & { fieldKind: 'message' } =>
  field.fieldKind === 'message' && !textMessages.has(field.message.typeName)

function createFlag(command: Command, path: DescField[], prefix: string): Flag {
  const field = path.at(-1)
  if (!field) throw new Error('a flag must have a field')
  const fullName = prefix + kebab(field.name)
  const name = fullName.replace(/-uid$/, '')
  const refersTo = isUid(field) ? referencedResource(command, field) : undefined
  return { name, path, field, refersTo, ...(name !== fullName && { alias: fullName }) }
}

/** The resource whose uid a field contains: the resource that the field is named after, or else the parent. */
function referencedResource({ resource }: Command, { name }: DescField): string {
  const word = kebab(name.replace(/^default_|_uid$/g, ''))
  if (['uid', 'ids', 'names', 'ancestors-of'].includes(word)) return resource
  if (['descendants-of', 'resource', 'scope'].includes(word)) return 'groups'
  return resources.find((candidate) => singular(candidate.name) === word)?.name ?? parentOf(resource)
}
