// The command line of `stemma groups tree`.
import { parseArgs } from 'node:util'
import { globalOptions } from '../arguments.ts'
import { commandOf } from '../contract/commands.ts'
import { formatOf } from '../output/print.ts'
import { openProgress } from '../output/progress.ts'
import { openScreen } from '../output/screen.ts'
import { openSession } from '../session.ts'
import { UsageError } from '../usage.ts'
import { inWords } from './errors.ts'
import { printTree } from './tree.ts'

export function readTreeLine(args: string[]) {
  try {
    return parseArgs({
      args,
      options: { ...globalOptions, depth: { type: 'string' } },
      allowPositionals: true,
    })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; see stemma groups tree --help`)
  }
}

export async function runTree(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = readTreeLine(args)
  if (positionals.length > 1) throw new UsageError('stemma groups tree draws one group at a time')
  const wishes = { root: positionals[0], depth: values.depth, format: formatOf(values.output) }
  const screen = openScreen(process.stdout, env)
  try {
    const connection = await openSession(values, env)
    await printTree(connection, wishes, screen, openProgress(process.stderr.isTTY === true))
  } catch (error) {
    throw inWords(error, commandOf('groups', 'list'), values.debug === true)
  }
}
