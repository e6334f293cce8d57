// `stemma RESOURCE VERB`: finds the command, opens a connection and runs the command.
import type { Connection, Warning } from '@stemma/api'
import type { CommandLine } from '../command-line.ts'
import { parseCommandLine } from '../command-line.ts'
import { findComposed, verbsOf } from '../composed/commands.ts'
import { runComposed } from '../composed/run-composed.ts'
import { openConnection } from '../connection.ts'
import type { Command } from '../contract/commands.ts'
import { findCommand, findResource } from '../contract/commands.ts'
import { singular, spaced } from '../contract/spelling.ts'
import { targetKind } from '../contract/target.ts'
import { UsageError } from '../failure.ts'
import { parseFormat, requireJson } from '../output/format.ts'
import { openScreen } from '../output/screen.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { runCall } from './call.ts'
import { runDelete } from './delete.ts'
import { toFailure, warningLine } from './errors.ts'
import type { Invocation } from './invocation.ts'
import { runList } from './list.ts'
import { refusalLines } from './refusal.ts'
import { runStream } from './stream.ts'

const runners: Record<Command['kind'], (invocation: Invocation) => Promise<void>> = {
  list: runList,
  stream: runStream,
  delete: runDelete,
  update: runCall,
  call: runCall,
}

export async function runResource(name: string, args: string[], runtime: Runtime): Promise<void> {
  const composed = findComposed(name, args[0] ?? '')
  if (composed) {
    const composedArgs = composed.verb === '' ? args : args.slice(1)
    return runComposed(composed, composedArgs, runtime, (...command) => runResource(...command, runtime))
  }
  const resource = findResource(name)
  if (!resource) throw new UsageError(`stemma has no command ${JSON.stringify(name)}; see stemma --help`)
  // `stemma ping` needs no verb, because its verb is the name of the resource.
  const [verb = '', ...verbArgs] = findCommand(name, name) ? [name, ...args] : args
  if (verb === '') return openScreen(runtime).write(`${(await import('../help/help.ts')).helpOf([name])}\n`)
  const command = requireCommand(name, verb)
  await runCommand(command, parseCommandLine(command, verbArgs), runtime)
}

function requireCommand(resource: string, verb: string): Command {
  const command = findCommand(resource, verb)
  if (command) return command
  throw new UsageError(
    `stemma ${resource} has no command ${JSON.stringify(verb)}; it has ${verbsOf(resource).join(', ')}`,
  )
}

async function runCommand(command: Command, line: CommandLine, runtime: Runtime): Promise<void> {
  // Wrong formats and arguments are reported before anything is sent.
  parseFormat(line.options.output)
  if (command.kind === 'stream')
    requireJson(`stemma ${command.resource} ${command.verb}`, line.options.output)
  checkArguments(command, line)
  let connection: Connection | undefined
  try {
    const isAnonymous = command.method.access?.open
    const onWarning = (warning: Warning) => report(runtime, warningLine(warning, command))
    connection = await openConnection({ ...line.options, isAnonymous, onWarning }, runtime)
    const screen = openScreen(runtime)
    await runners[command.kind]({ command, line, connection, screen, runtime })
  } catch (error) {
    const hints = await refusalLines(error, connection, line.options)
    throw toFailure(error, command, line.options.debug === true, hints)
  }
}

function checkArguments(command: Command, { positionals }: CommandLine): void {
  const { target, kind, verb, resource } = command
  const [first = '', second] = positionals
  const name = `stemma ${resource} ${verb}`
  if (target.length === 0 && first !== '')
    throw new UsageError(`${name} accepts only flags, not ${JSON.stringify(first)}; see ${name} --help`)
  const acceptsSeveral = kind === 'delete' || verb === 'get'
  if (second !== undefined && !acceptsSeveral)
    throw new UsageError(
      `${name} accepts only one ${spaced(singular(targetKind(command)))}; remove ${JSON.stringify(second)}`,
    )
}
