// The command line of a resource's command: its own flags, and those of all.
import type { ParseArgsOptionsConfig } from 'node:util'
import { parseArgs } from 'node:util'
import { ScalarType } from '@bufbuild/protobuf'
import type { Command } from './contract/commands.ts'
import type { Flag } from './contract/flags.ts'
import { flagsOf } from './contract/flags.ts'
import { contextOptions } from './flags.ts'
import { UsageError } from './usage.ts'

const text = { type: 'string' } as const
const yes = { type: 'boolean' } as const

export const globalOptions = {
  ...contextOptions,
  output: { ...text, short: 'o' },
  debug: yes,
  help: { ...yes, short: 'h' },
} as const

/** What a sort of command takes besides. */
export function ownOptions(command: Pick<Command, 'kind' | 'verb' | 'method'>): ParseArgsOptionsConfig {
  if (command.kind === 'list') return { all: yes }
  if (command.kind === 'delete') return { yes: { ...yes, short: 'y' } }
  const takesDocument = command.method.desc.input.fields.length > 0 && command.method.bindings[0]?.body !== ''
  return takesDocument ? { file: { ...text, short: 'f' } } : {}
}

export type Globals = {
  api?: string
  issuer?: string
  audience?: string
  context?: string
  output?: string
  debug?: boolean
  help?: boolean
  all?: boolean
  yes?: boolean
  file?: string
}

export type Line = {
  globals: Globals
  /** What was given for fields, in words. */
  fields: { flag: Flag; texts: string[] }[]
  /** What was given without a flag. */
  positionals: string[]
}

export const isSwitch = ({ field }: Flag): boolean =>
  field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL

export function readLine(command: Command, args: string[]): Line {
  const flags = flagsOf(command)
  // A field wins over a flag of all commands that has its name: `identities lookup --issuer`.
  const options: ParseArgsOptionsConfig = { ...globalOptions, ...ownOptions(command) }
  for (const flag of flags) {
    const option = isSwitch(flag) ? yes : { ...text, multiple: true }
    options[flag.name] = option
    if (flag.alias !== undefined) options[flag.alias] = option
  }
  const { values, positionals } = parse(command, args, options)
  const taken = new Set(flags.flatMap(({ name, alias }) => [name, ...(alias === undefined ? [] : [alias])]))
  return {
    globals: Object.fromEntries(Object.entries(values).filter(([name]) => !taken.has(name))) as Globals,
    fields: flags.flatMap((flag) => {
      const value = values[flag.name] ?? (flag.alias === undefined ? undefined : values[flag.alias])
      return value === undefined ? [] : [{ flag, texts: [value].flat().map(String) }]
    }),
    positionals,
  }
}

function parse(command: Command, args: string[], options: ParseArgsOptionsConfig) {
  try {
    return parseArgs({ args, options, allowPositionals: true, allowNegative: true })
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const place = `stemma ${command.resource} ${command.verb}`
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(message)
    const [, wrong = ''] = /'(-[^']*)'/.exec(message) ?? []
    const near = nearest(wrong, Object.keys(options))
    throw new UsageError(`${place} has no flag ${wrong}${near}; see ${place} --help`)
  }
}

function nearest(wrong: string, names: string[]): string {
  const word = wrong.replace(/^-+/, '')
  const close = names.filter(
    (name) =>
      distance(word, name) <= 2 || name.endsWith(`.${word}`) || (word.length > 2 && name.startsWith(word)),
  )
  return close.length === 0
    ? ''
    : ` (did you mean ${close
        .slice(0, 3)
        .map((name) => `--${name}`)
        .join(' or ')}?)`
}

/** How many letters differ. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] ?? 0
}
