// Commands that are written by hand, because they combine several calls or print more than a table. Help, completion and
// parsing read the same description of a command.
import type { ParseArgsOptionsConfig } from 'node:util'
import type { Connection } from '@stemma/api'
import type { Context } from '../context.ts'
import type { Row } from '../help/layout.ts'
import type { Format } from '../output/format.ts'
import type { Screen } from '../output/screen.ts'
import type { Runtime } from '../runtime.ts'

/**
 * Completes an argument or the value of a flag with fixed words, or with the names of all resources
 * of a kind, such as `groups`.
 */
export type Completion = { names: string } | { words: () => string[] }

export type ComposedFlag = {
  name: string
  /** Name of the value in help. Undefined for a flag without a value. */
  placeholder?: string
  description: string
  completion?: Completion
  /** Whether the flag can be given several times. */
  isRepeated?: boolean
}

export type Argument = { name: string; isOptional?: boolean; completion?: Completion }

export type ComposedCommand = {
  /** The first word, such as `groups`. */
  resource: string
  /** The second word, such as `tree`. Empty for a command of one word. */
  verb: string
  args: Argument[]
  description: string
  /** A paragraph of the help below the description. */
  notes?: string
  examples: string[]
  flags: ComposedFlag[]
  /** A verb of the contract that this command makes superfluous. Help and completion leave it out. */
  replaces?: string
  /** Imports the module of the command, only when the command runs, so that other commands start quickly. */
  load(): Promise<Run>
}

export type ComposedInvocation = {
  args: string[]
  /** The last value of each flag that cannot be repeated; `true` for a flag without a value. */
  flags: Record<string, string | true | undefined>
  /** All values of each flag that can be repeated. */
  repeated: Record<string, string[]>
  format: Format
  isDebug: boolean
  context: Context
  connection: Connection
  screen: Screen
  runtime: Runtime
  runResource: RunResource
}

/** Runs a command of the contract. */
export type RunResource = (resource: string, args: string[]) => Promise<void>

export type Run = (invocation: ComposedInvocation) => Promise<void>

export const nameOf = ({ resource, verb }: Pick<ComposedCommand, 'resource' | 'verb'>): string =>
  `stemma ${resource} ${verb}`.trimEnd()

/** The verb and its arguments, such as `tree [NAME|UID]`. */
export const usageOf = ({ verb, args }: ComposedCommand): string =>
  [verb, ...args.map(({ name, isOptional }) => (isOptional ? `[${name}]` : name))].filter(Boolean).join(' ')

export const optionsOf = ({ flags }: ComposedCommand): ParseArgsOptionsConfig =>
  Object.fromEntries(
    flags.map(({ name, placeholder, isRepeated = false }) => [
      name,
      placeholder === undefined ? { type: 'boolean' } : { type: 'string', multiple: isRepeated },
    ]),
  )

export const rowsOf = ({ flags }: ComposedCommand): Row[] =>
  flags.map(({ name, placeholder = '', description, isRepeated }) => [
    `--${name} ${placeholder}`.trimEnd(),
    isRepeated ? `${description} Can be repeated.` : description,
  ])
