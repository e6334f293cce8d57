import type { Connection } from '@stemma/api'
import { commonOptions, parseArguments } from '../command-line.ts'
import { openConnection } from '../connection.ts'
import type { ContextFlags } from '../context.ts'
import { readContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { parseFormat } from '../output/format.ts'
import { openScreen } from '../output/screen.ts'
import { toFailure } from '../resources/errors.ts'
import { refusalLines } from '../resources/refusal.ts'
import type { Runtime } from '../runtime.ts'
import type { ComposedCommand, ComposedInvocation, RunResource } from './composed-command.ts'
import { nameOf, optionsOf } from './composed-command.ts'

type Line = Pick<ComposedInvocation, 'args' | 'flags' | 'repeated'>

export async function runComposed(
  command: ComposedCommand,
  args: string[],
  runtime: Runtime,
  runResource: RunResource,
): Promise<void> {
  const line = parseComposedLine(command, args)
  const { flags } = line
  // Wrong formats are reported before anything is sent.
  const format = parseFormat(flags.output as string | undefined)
  // The parser returns strings for the flags in `ContextFlags`.
  const contextFlags = flags as ContextFlags
  const isDebug = flags.debug === true
  let connection: Connection | undefined
  try {
    const context = await readContext(contextFlags, runtime.env)
    connection = await openConnection({ ...contextFlags, debug: isDebug }, runtime)
    const run = await command.load()
    const screen = openScreen(runtime)
    await run({ ...line, format, isDebug, context, connection, screen, runtime, runResource })
  } catch (error) {
    const hints = await refusalLines(error, connection, contextFlags)
    throw toFailure(error, undefined, isDebug, hints)
  }
}

export function parseComposedLine(command: ComposedCommand, args: string[]): Line {
  const options = { ...commonOptions, ...optionsOf(command) }
  const { values, positionals } = parseArguments(nameOf(command), args, options)
  checkCount(command, positionals)
  const repeated: Line['repeated'] = {}
  const flags: Line['flags'] = {}
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) repeated[name] = value.map(String)
    else flags[name] = value === false ? undefined : value
  }
  return { args: positionals, flags, repeated }
}

function checkCount(command: ComposedCommand, positionals: string[]): void {
  const { args } = command
  const name = nameOf(command)
  const missing = args.slice(positionals.length).filter(({ isOptional }) => !isOptional)
  if (missing.length > 0)
    throw new UsageError(
      `${name} needs ${missing.map((each) => each.name).join(' and ')}; see ${name} --help`,
    )
  const unexpected = positionals[args.length]
  if (unexpected !== undefined)
    throw new UsageError(
      `${name} accepts only ${args.length === 0 ? 'flags' : args.map((each) => each.name).join(' and ')}; remove ${JSON.stringify(unexpected)}, or see ${name} --help`,
    )
}
