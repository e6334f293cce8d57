// The rows of a command's help that describe its flags.
import type { DescField } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isRequiredOnCreate } from '@stemma/api/method.ts'
import { commentOf } from '@stemma/api/reference/comments.ts'
import { isToggle, optionsOfCommandKind } from '../command-line.ts'
import type { Command } from '../contract/commands.ts'
import { enumNames, maxListedNames } from '../contract/enum-names.ts'
import type { Flag } from '../contract/request-flags.ts'
import { flagsOf } from '../contract/request-flags.ts'
import { singular } from '../contract/spelling.ts'
import { isNamed } from '../names/naming.ts'
import type { Row } from './layout.ts'

export const commonFlagRows: Row[] = [
  ['-o, --output FORMAT', 'Output format: table (default), wide, json, yaml or uid.'],
  [
    '--api URL',
    'URL of the server. Default: STEMMA_API, then the current context, then http://localhost:8080.',
  ],
  ['--context NAME', 'Name of a sign-in that stemma auth login saved (STEMMA_CONTEXT).'],
  [
    '--issuer URL',
    'URL of the token issuer. Default: STEMMA_ISSUER, then the current context, then the same as --api.',
  ],
  ['--audience AUD', 'Audience of the token. Default: the same as --api.'],
  ['--debug', 'Print each request, and all details of an error.'],
]

const rowsByFlag: Record<string, Row> = {
  all: ['--all', 'List all pages. Each page is printed when it arrives.'],
  yes: ['-y, --yes', 'Do not ask for confirmation.'],
  file: [
    '-f, --file FILE|-',
    'Fields as JSON or YAML, from a file or standard input. Flags take precedence over these fields.',
  ],
}

export function flagRows(command: Command): Row[] {
  const fields = flagsOf(command).map(
    (flag): Row => [`--${flag.name} ${placeholder(flag)}`.trimEnd(), description(command, flag)],
  )
  const others = Object.keys(optionsOfCommandKind(command)).flatMap((name) => {
    const row = rowsByFlag[name]
    return row ? [row] : []
  })
  return [...fields, ...others]
}

function description({ kind }: Command, { field, path, refersTo }: Flag): string {
  const values = field.enum ? enumNames(field.enum) : []
  const isListed = values.length > 0 && values.length <= maxListedNames
  const isRepeatable = field.fieldKind === 'list' || field.fieldKind === 'map'
  return [
    refersTo && isNamed(refersTo) ? commentOf(field).replace(/^Uid of/, 'Name or uid of') : commentOf(field),
    isListed && `One of ${values.join(', ')}.`,
    isRepeatable && 'Can be repeated.',
    kind !== 'update' && path.every(isRequiredOnCreate) && '(required)',
  ]
    .filter(Boolean)
    .join(' ')
}

function placeholder(flag: Flag): string {
  if (isToggle(flag)) return ''
  const { field, refersTo } = flag
  const value = refersTo ? singular(refersTo).toUpperCase() : valuePlaceholder(field)
  return field.fieldKind === 'map' ? `KEY=${value}` : value
}

const messagePlaceholders: Record<string, string> = {
  'google.protobuf.Duration': 'DURATION',
  'google.protobuf.Timestamp': 'TIME',
  'google.protobuf.FieldMask': 'FIELD,…',
}

function valuePlaceholder(field: DescField): string {
  if (field.enum) return 'WORD'
  if (field.message) return messagePlaceholders[field.message.typeName] ?? 'JSON'
  return field.scalar === ScalarType.STRING ? 'TEXT' : 'NUMBER'
}
