// Parses the command line of a resource command: the flags of its request fields, and the flags that every command has.
import type { ParseArgsOptionsConfig } from 'node:util'
import { parseArgs } from 'node:util'
import { ScalarType } from '@bufbuild/protobuf'
import { nearestNames } from '@stemma/api/nearest-names.ts'
import type { Command } from './contract/commands.ts'
import type { Flag } from './contract/request-flags.ts'
import { flagsOf } from './contract/request-flags.ts'
import { argumentIsId } from './contract/target.ts'
import { UsageError } from './failure.ts'
import { contextOptions } from './parse-flags.ts'

const text = { type: 'string' } as const
const toggle = { type: 'boolean' } as const

/** The flags that every command has. */
export const commonOptions = {
  ...contextOptions,
  output: { ...text, short: 'o' },
  debug: toggle,
  help: { ...toggle, short: 'h' },
} as const

/** Flags that depend on the kind of command: `--all` for lists, `--yes` for deletes, `--file` for calls with a body. */
export function optionsOfCommandKind(
  command: Pick<Command, 'kind' | 'verb' | 'method'>,
): ParseArgsOptionsConfig {
  if (command.kind === 'list') return { all: toggle }
  if (command.kind === 'delete') return { yes: { ...toggle, short: 'y' } }
  const { desc, bindings } = command.method
  const hasBody = desc.input.fields.length > 0 && bindings[0]?.body !== ''
  return hasBody ? { file: { ...text, short: 'f' } } : {}
}

export type Options = {
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

export type FieldTexts = { flag: Flag; texts: string[] }

export type CommandLine = {
  options: Options
  /** The texts that were given for request fields. */
  fields: FieldTexts[]
  /** Arguments without a flag. */
  positionals: string[]
}

export const isToggle = ({ field }: Flag): boolean =>
  field.fieldKind === 'scalar' && field.scalar === ScalarType.BOOL

export function parseCommandLine(command: Command, args: string[]): CommandLine {
  const flags = flagsOf(command)
  // A field takes precedence over a common flag of the same name: `identities lookup --issuer`.
  const options: ParseArgsOptionsConfig = { ...commonOptions, ...optionsOfCommandKind(command) }
  for (const flag of flags) {
    const option = isToggle(flag) ? toggle : { ...text, multiple: true }
    for (const name of namesOf(flag)) options[name] = option
  }
  const name = `stemma ${command.resource} ${command.verb}`
  const hint = argumentIsId(command) ? '; write -- before an id that starts with -' : ''
  const { values, positionals } = parseArguments(name, args, options, hint)
  const fieldNames = new Set(flags.flatMap(namesOf))
  return {
    options: Object.fromEntries(Object.entries(values).filter(([name]) => !fieldNames.has(name))) as Options,
    fields: flags.flatMap((flag) => {
      const [given, other] = namesOf(flag).filter((name) => values[name] !== undefined)
      if (other !== undefined)
        throw new UsageError(`--${given} and --${other} are the same flag; use only one`)
      return given === undefined ? [] : [{ flag, texts: [values[given]].flat().map(String) }]
    }),
    positionals,
  }
}

const namesOf = ({ name, alias }: Flag): string[] => (alias === undefined ? [name] : [name, alias])

/** `name` is the command for messages, such as `stemma groups create`. `hint` follows the error of an unknown flag. */
export function parseArguments(name: string, args: string[], options: ParseArgsOptionsConfig, hint = '') {
  try {
    return parseArgs({ args, options, allowPositionals: true, allowNegative: true })
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(message)
    const [, unknown = ''] = /'(-[^']*)'/.exec(message) ?? []
    const flags = nearestNames(unknown.replace(/^-+/, ''), Object.keys(options)).map((flag) => `--${flag}`)
    const suggestion = flags.length === 0 ? '' : ` (did you mean ${flags.join(' or ')}?)`
    throw new UsageError(`${name} has no flag ${unknown}${suggestion}${hint}; see ${name} --help`)
  }
}
