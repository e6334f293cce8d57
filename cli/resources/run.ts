// `stemma RESOURCE VERB`: from the command line to what is printed.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { StemmaError } from '@stemma/api'
import type { Line } from '../arguments.ts'
import { readLine } from '../arguments.ts'
import type { Command } from '../contract/commands.ts'
import { findCommand, findResource, rowsField, subjectOf } from '../contract/commands.ts'
import { singular } from '../contract/spelling.ts'
import { uidOf } from '../names/resolve.ts'
import { formatOf, jsonOf, openPrinter, printOne } from '../output/print.ts'
import { openProgress } from '../output/progress.ts'
import type { Screen } from '../output/screen.ts'
import { openScreen } from '../output/screen.ts'
import { openSession } from '../session.ts'
import { UsageError } from '../usage.ts'
import { confirm, countOf } from './delete.ts'
import { inWords } from './errors.ts'
import { meant, readRequest } from './input.ts'
import { pageOf, pagesOf, printAll } from './list.ts'
import { runTree } from './tree-command.ts'

type Run = { command: Command; line: Line; connection: Connection; screen: Screen }

export async function runResource(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const resource = findResource(name)
  if (!resource) throw new UsageError(`stemma has no command ${JSON.stringify(name)}; see stemma --help`)
  // What can do only one thing needs not be told to: `stemma ping`.
  const [only] = resource.commands
  const [verb = '', ...rest] = resource.commands.length === 1 && only ? [only.verb, ...args] : args
  if (verb === '')
    return openScreen(process.stdout, env).write(`${(await import('../help/help.ts')).helpOf([name])}\n`)
  if (name === 'groups' && verb === 'tree') return runTree(rest, env)
  const command = commandFor(name, verb)
  await runCommand(command, readLine(command, rest), env)
}

function commandFor(resource: string, verb: string): Command {
  const command = findCommand(resource, verb)
  if (command) return command
  const verbs = findResource(resource)
    ?.commands.map((one) => one.verb)
    .concat(resource === 'groups' ? ['tree'] : [])
    .join(', ')
  throw new UsageError(`stemma ${resource} has no command ${JSON.stringify(verb)}; it has ${verbs}`)
}

async function runCommand(command: Command, line: Line, env: NodeJS.ProcessEnv): Promise<void> {
  formatOf(line.globals.output)
  requireTargets(command, line)
  const screen = openScreen(process.stdout, env)
  try {
    const connection = await openSession({ ...line.globals, isOpen: command.method.access?.open }, env)
    await runs[command.kind]({ command, line, connection, screen })
  } catch (error) {
    throw inWords(error, command, line.globals.debug === true)
  }
}

const runs: Record<Command['kind'], (run: Run) => Promise<void>> = {
  list,
  stream,
  delete: remove,
  update: call,
  call,
}

function requireTargets({ target, kind, verb, resource }: Command, { positionals }: Line): void {
  const [first = '', second] = positionals
  if (target.length === 0 && first !== '')
    throw new UsageError(
      `stemma ${resource} ${verb} takes flags only, not ${JSON.stringify(first)}; see --help`,
    )
  const takesMany = kind === 'delete' || verb === 'get'
  if (second !== undefined && !takesMany)
    throw new UsageError(
      `stemma ${resource} ${verb} takes one ${singular(resource).replaceAll('-', ' ')} at a time, not also ${JSON.stringify(second)}`,
    )
}

async function list({ command, line, connection, screen }: Run): Promise<void> {
  const request = await readRequest(command, line, undefined, connection)
  const printer = openPrinter(formatOf(line.globals.output), subjectOf(command), screen)
  const progress = openProgress(!screen.isTerminal && process.stderr.isTTY === true)
  if (line.globals.all) {
    const count = await printAll(pagesOf(connection, command, request), printer, progress)
    if (count === 0) say(`No ${command.resource.replaceAll('-', ' ')}.`)
    return
  }
  const { rows, next, total } = await pageOf(connection, command, request)
  await printer.page(rows)
  await printer.end()
  if (rows.length === 0) say(`No ${command.resource.replaceAll('-', ' ')}.`)
  if (next !== '') say(`${rows.length} of ${total}; --all shows all, --page-token ${next} the next page`)
}

async function stream({ command, line, connection, screen }: Run): Promise<void> {
  const request = await readRequest(command, line, undefined, connection)
  const progress = openProgress(!screen.isTerminal && process.stderr.isTTY === true)
  let count = 0
  for await (const document of connection.stream(command.method.desc, request)) {
    await screen.write(`${jsonOf(document, 0)}\n`)
    count += 1
    progress.say(count)
  }
  progress.clear()
}

async function call({ command, line, connection, screen }: Run): Promise<void> {
  const { positionals } = line
  const isDocument = command.method.desc.output.typeName === 'google.protobuf.Struct'
  const format = formatOf(line.globals.output, isDocument ? 'json' : 'table')
  const ask = async (target?: string) =>
    connection.call(command.method.desc, await readRequest(command, line, target, connection))
  const printer = openPrinter(format, subjectOf(command), screen)
  if (positionals.length > 1) {
    for (const target of positionals) await printer.page([await ask(target)])
    return printer.end()
  }
  const answer = await ask(positionals[0])
  const rows = answer[rowsField(command)]
  if (!Array.isArray(rows)) return printOne(format, subjectOf(command), answer, screen)
  await printer.page(rows as JsonObject[])
  return printer.end()
}

async function remove({ command, line, connection }: Run): Promise<void> {
  if (line.positionals.length === 0) throw new UsageError(`say what to delete, by name or by uid`)
  const uids: string[] = []
  for (const text of line.positionals) uids.push(await uidOf(connection, meant(command), text))
  if (!line.globals.yes && !(await confirm(command, uids, connection))) return say('Nothing was deleted.')
  const progress = openProgress(process.stderr.isTTY === true)
  for (const [at, uid] of uids.entries()) {
    await connection.call(command.method.desc, { uid }).catch((error: unknown) => {
      progress.clear()
      if (error instanceof StemmaError && uids.length > 1)
        say(`${countOf(command, at)} deleted before ${uid}`)
      throw error
    })
    progress.say(at + 1, uids.length)
  }
  progress.clear()
  say(`Deleted ${countOf(command, uids.length)}.`)
}

const say = (words: string): void => void process.stderr.write(`${words}\n`)
