// `delete`: asks before it does, and deletes nothing unasked.
import { once } from 'node:events'
import type { Connection } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { findCommand } from '../contract/commands.ts'
import { singular } from '../contract/spelling.ts'
import { oneLine } from '../one-line.ts'
import { UsageError } from '../usage.ts'

/** Whether to go on. What it is called is asked of the server: a uid tells nobody what goes. */
export async function confirm(command: Command, uids: string[], connection: Connection): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`nobody is here to be asked; say --yes to delete ${countOf(command, uids.length)}`)
  const names = await Promise.all(uids.slice(0, 5).map((uid) => describe(command, uid, connection)))
  const more = uids.length > names.length ? ` and ${uids.length - names.length} more` : ''
  process.stderr.write(`Delete ${spoken(command, uids.length)} ${names.join(', ')}${more}? [y/N] `)
  const [answer] = (await Promise.race([once(process.stdin, 'data'), once(process.stdin, 'end')])) as [
    Buffer?,
  ]
  process.stdin.pause()
  return /^y(?:es)?$/i.test(String(answer ?? '').trim())
}

async function describe({ resource }: Command, uid: string, connection: Connection): Promise<string> {
  const get = findCommand(resource, 'get')
  const { name } = get ? await connection.call(get.method.desc, { uid }) : {}
  return typeof name === 'string' && name !== '' ? `${JSON.stringify(oneLine(name))} (${uid})` : uid
}

export const countOf = (command: Command, count: number): string => `${count} ${spoken(command, count)}`

const spoken = ({ resource }: Command, count: number) =>
  (count === 1 ? singular(resource) : resource).replaceAll('-', ' ')
