import { parseArgs } from 'node:util'
import { commonOptions } from '../command-line.ts'
import { openConnection } from '../connection.ts'
import { commandOf } from '../contract/commands.ts'
import { UsageError } from '../failure.ts'
import { parseFormat } from '../output/format.ts'
import { createProgress } from '../output/progress.ts'
import { openScreen } from '../output/screen.ts'
import type { Runtime } from '../runtime.ts'
import { toFailure } from './errors.ts'
import { printTree } from './tree.ts'

export function parseTreeLine(args: string[]) {
  try {
    return parseArgs({
      args,
      options: { ...commonOptions, depth: { type: 'string' } },
      allowPositionals: true,
    })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; see stemma groups tree --help`)
  }
}

/** `stemma groups tree`. */
export async function runTree(args: string[], runtime: Runtime): Promise<void> {
  const { values, positionals } = parseTreeLine(args)
  if (positionals.length > 1) throw new UsageError('stemma groups tree accepts at most one group')
  const options = { root: positionals[0], depth: values.depth, format: parseFormat(values.output) }
  const { stderr, now } = runtime
  try {
    const connection = await openConnection(values, runtime)
    const progress = createProgress(stderr.isTTY === true, stderr, now)
    await printTree(connection, options, openScreen(runtime), progress)
  } catch (error) {
    throw toFailure(error, commandOf('groups', 'list'), values.debug === true)
  }
}
