import { once } from 'node:events'
import type { Connection } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { findCommand } from '../contract/commands.ts'
import { singular, spaced } from '../contract/spelling.ts'
import { UsageError } from '../failure.ts'
import { singleLine } from '../single-line.ts'
import type { Invocation } from './invocation.ts'

const maxShownNames = 5

/**
 * Asks the person at the terminal whether to delete the resources. The question shows their names, which are fetched
 * from the server, because people do not recognise uids.
 */
export async function confirmDelete(
  { command, connection, runtime: { stdin, stderr } }: Invocation,
  uids: string[],
): Promise<boolean> {
  const resource = spaced(uids.length === 1 ? singular(command.resource) : command.resource)
  if (!stdin.isTTY || !stderr.isTTY)
    throw new UsageError(
      `cannot ask for confirmation without a terminal; use --yes to delete ${uids.length} ${resource}`,
    )
  const names = await Promise.all(uids.slice(0, maxShownNames).map((uid) => nameOf(command, uid, connection)))
  const others = uids.length > names.length ? ` and ${uids.length - names.length} more` : ''
  stderr.write(`Delete ${resource} ${names.join(', ')}${others}? [y/N] `)
  const [answer] = (await Promise.race([once(stdin, 'data'), once(stdin, 'end')])) as [Buffer?]
  stdin.pause()
  return /^y(?:es)?$/i.test(String(answer ?? '').trim())
}

async function nameOf({ resource }: Command, uid: string, connection: Connection): Promise<string> {
  const get = findCommand(resource, 'get')
  const { name } = get ? await connection.call(get.method.desc, { uid }) : {}
  return typeof name === 'string' && name !== '' ? `${JSON.stringify(singleLine(name))} (${uid})` : uid
}
