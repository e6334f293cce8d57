// What help says of flags: what goes after them, and what the contract says of their fields.
import type { DescField } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isRequired } from '@stemma/api/method.ts'
import { aboutOf } from '@stemma/api/reference/about.ts'
import { isSwitch } from '../arguments.ts'
import type { Command } from '../contract/commands.ts'
import { enumNames } from '../contract/enums.ts'
import type { Flag } from '../contract/flags.ts'
import { flagsOf } from '../contract/flags.ts'
import { singular } from '../contract/spelling.ts'

export function fieldRows(command: Command): [string, string][] {
  return flagsOf(command).map((flag) => [
    `--${flag.name} ${placeholder(flag)}`.trimEnd(),
    meaningOf(command, flag),
  ])
}

function meaningOf({ kind }: Command, { field, path }: Flag): string {
  const values = field.enum ? enumNames(field.enum) : []
  const choice = values.length > 0 && values.length <= 20 ? `One of ${values.join(', ')}.` : ''
  const isNeeded = kind !== 'update' && path.every(isRequired)
  const times = field.fieldKind === 'list' || field.fieldKind === 'map' ? 'May be repeated.' : ''
  return [aboutOf(field), choice, times, isNeeded ? '(required)' : ''].filter(Boolean).join(' ')
}

function placeholder(flag: Flag): string {
  if (isSwitch(flag)) return ''
  const { field, refersTo } = flag
  const one = refersTo ? singular(refersTo).toUpperCase() : contentOf(field)
  return field.fieldKind === 'map' ? `KEY=${one}` : one
}

const messages: Record<string, string> = {
  'google.protobuf.Duration': 'DURATION',
  'google.protobuf.Timestamp': 'TIME',
  'google.protobuf.FieldMask': 'FIELD,…',
}

function contentOf(field: DescField): string {
  if (field.enum) return 'WORD'
  if (field.message) return messages[field.message.typeName] ?? 'JSON'
  return field.scalar === ScalarType.STRING ? 'TEXT' : 'NUMBER'
}
