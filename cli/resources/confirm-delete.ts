import { once } from 'node:events'
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { Code, StemmaError } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { findCommand } from '../contract/commands.ts'
import { targetResource } from '../contract/target.ts'
import { UsageError } from '../failure.ts'
import { singleLine } from '../single-line.ts'
import { actionOf, capitalized, countOf, nounOf } from './deletion-words.ts'
import type { Invocation } from './invocation.ts'

const maxShownNames = 5

/**
 * Asks the person at the terminal whether to delete the resources. `targets` are their uids or ids, or undefined for a
 * command that has no argument.
 */
export async function confirmDelete(
  { command, connection, runtime: { stdin, stderr } }: Invocation,
  targets: (string | undefined)[],
): Promise<boolean> {
  if (!stdin.isTTY || !stderr.isTTY)
    throw new UsageError(
      `cannot ask for confirmation without a terminal; use --yes to ${actionOf(command)} ${countOf(command, targets.length)}`,
    )
  stderr.write(`${capitalized(actionOf(command))} ${await describe(command, targets, connection)}? [y/N] `)
  const [answer] = (await Promise.race([once(stdin, 'data'), once(stdin, 'end')])) as [Buffer?]
  stdin.pause()
  return /^y(?:es)?$/i.test(String(answer ?? '').trim())
}

/** The resources with their names, which are fetched from the server, because people do not recognise uids. */
async function describe(
  command: Command,
  targets: (string | undefined)[],
  connection: Connection,
): Promise<string> {
  if (command.target.length === 0) return countOf(command, 1)
  const shown = targets.slice(0, maxShownNames)
  const names = await Promise.all(shown.map((target = '') => nameOf(command, target, connection)))
  const others = targets.length > names.length ? ` and ${targets.length - names.length} more` : ''
  return `${nounOf(command, targets.length)} ${names.join(', ')}${others}`
}

async function nameOf(command: Command, target: string, connection: Connection): Promise<string> {
  const resource = targetResource(command)
  const get = resource === undefined ? undefined : findCommand(resource, 'get')
  const { name } = get ? await readIfAllowed(connection, get, target) : {}
  return typeof name === 'string' && name !== ''
    ? `${JSON.stringify(singleLine(name))} (${target})`
    : singleLine(target)
}

/** Empty if the resource cannot be read. It may still be deleted: everyone may give up their own role bindings. */
async function readIfAllowed(connection: Connection, get: Command, uid: string): Promise<JsonObject> {
  try {
    return await connection.call(get.method.desc, { uid })
  } catch (error) {
    if (error instanceof StemmaError && unreadable.includes(error.code)) return {}
    throw error
  }
}

const unreadable: readonly Code[] = [Code.PERMISSION_DENIED, Code.NOT_FOUND]
