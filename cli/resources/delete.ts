import { StemmaError } from '@stemma/api'
import { argumentForm } from '../contract/target.ts'
import { UsageError } from '../failure.ts'
import { resolveTarget } from '../names/resolve.ts'
import { createProgress } from '../output/progress.ts'
import { report } from '../runtime.ts'
import { confirmDelete } from './confirm-delete.ts'
import { capitalized, countOf, pastActionOf } from './deletion-words.ts'
import type { Invocation } from './invocation.ts'
import { readRequest } from './read-request.ts'
import { nothingChanged, validatesOnly } from './validation.ts'

/** Deletes resources one by one, after one confirmation for all of them. */
export async function runDelete(invocation: Invocation): Promise<void> {
  const { command, line, runtime } = invocation
  const targets = await readTargets(invocation)
  const isDry = validatesOnly(line)
  const deleted = pastActionOf(command)
  if (!isDry && !line.options.yes && !(await confirmDelete(invocation, targets)))
    return report(runtime, `Nothing was ${deleted}.`)
  await deleteAll(invocation, targets, isDry)
  const count = countOf(command, targets.length)
  const done = `${capitalized(deleted)} ${count}.`
  report(runtime, isDry ? `${count} can be ${deleted}. ${nothingChanged}` : done)
}

/** The uids or ids of the arguments. A command that has no argument makes one call without a target. */
async function readTargets({ command, line, connection }: Invocation): Promise<(string | undefined)[]> {
  if (command.target.length === 0) return [undefined]
  if (line.positionals.length === 0)
    throw new UsageError(`${command.resource} ${command.verb} needs at least one ${argumentForm(command)}`)
  const targets: string[] = []
  for (const text of line.positionals) targets.push(await resolveTarget(connection, command, text))
  return targets
}

async function deleteAll(
  invocation: Invocation,
  targets: (string | undefined)[],
  isDry: boolean,
): Promise<void> {
  const { command, connection, runtime } = invocation
  const { stderr, now } = runtime
  const progress = createProgress(stderr.isTTY === true, stderr, now)
  for (const [index, target] of targets.entries()) {
    const request = await readRequest(invocation, target)
    await connection.call(command.method.desc, request).catch((error: unknown) => {
      progress.clear()
      if (error instanceof StemmaError && targets.length > 1 && !isDry) {
        const done = `${capitalized(pastActionOf(command))} ${countOf(command, index)}`
        report(runtime, `${done} before the error at ${target}.`)
      }
      throw error
    })
    progress.update(index + 1, targets.length)
  }
  progress.clear()
}
