import { StemmaError } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { targetResource } from '../contract/commands.ts'
import { singular, spaced } from '../contract/spelling.ts'
import { UsageError } from '../failure.ts'
import { resolveUid } from '../names/resolve.ts'
import { createProgress } from '../output/progress.ts'
import { report } from '../runtime.ts'
import { confirmDelete } from './confirm-delete.ts'
import type { Invocation } from './invocation.ts'
import { readRequest } from './read-request.ts'
import { nothingChanged, validatesOnly } from './validation.ts'

/** Deletes resources one by one, after one confirmation for all of them. */
export async function runDelete(invocation: Invocation): Promise<void> {
  const { command, line, connection, runtime } = invocation
  if (line.positionals.length === 0)
    throw new UsageError(`${command.resource} delete needs at least one name or uid`)
  const uids: string[] = []
  for (const text of line.positionals) uids.push(await resolveUid(connection, targetResource(command), text))
  const isDry = validatesOnly(line)
  if (!isDry && !line.options.yes && !(await confirmDelete(invocation, uids)))
    return report(runtime, 'Nothing was deleted.')
  await deleteAll(invocation, uids, isDry)
  const count = countOf(command, uids.length)
  report(runtime, isDry ? `${count} can be deleted. ${nothingChanged}` : `Deleted ${count}.`)
}

async function deleteAll(invocation: Invocation, uids: string[], isDry: boolean): Promise<void> {
  const { command, connection, runtime } = invocation
  const { stderr, now } = runtime
  const progress = createProgress(stderr.isTTY === true, stderr, now)
  for (const [index, uid] of uids.entries()) {
    const request = await readRequest(invocation, uid)
    await connection.call(command.method.desc, request).catch((error: unknown) => {
      progress.clear()
      if (error instanceof StemmaError && uids.length > 1 && !isDry)
        report(runtime, `Deleted ${countOf(command, index)} before the error at ${uid}.`)
      throw error
    })
    progress.update(index + 1, uids.length)
  }
  progress.clear()
}

const countOf = ({ resource }: Command, count: number): string =>
  `${count} ${spaced(count === 1 ? singular(resource) : resource)}`
