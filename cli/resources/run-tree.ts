import type { ComposedInvocation } from '../composed/composed-command.ts'
import { createProgress } from '../output/progress.ts'
import { printTree } from './tree.ts'

/** `stemma groups tree`. */
export async function runTree(invocation: ComposedInvocation): Promise<void> {
  const { args, flags, format, connection, screen, runtime } = invocation
  const { stderr, now } = runtime
  const progress = createProgress(stderr.isTTY === true, stderr, now)
  // A flag with a value is never `true`.
  const options = { root: args[0], depth: flags.depth as string | undefined, format }
  await printTree(connection, options, screen, progress)
}
