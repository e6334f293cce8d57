import type { Connection } from '@stemma/api'
import type { CommandLine } from '../command-line.ts'
import type { Command } from '../contract/commands.ts'
import type { Progress } from '../output/progress.ts'
import { createProgress } from '../output/progress.ts'
import type { Screen } from '../output/screen.ts'
import type { Runtime } from '../runtime.ts'

/** A command with its arguments and everything it needs to run. */
export type Invocation = {
  command: Command
  line: CommandLine
  connection: Connection
  screen: Screen
  runtime: Runtime
}

/** Shows progress on standard error if that is a terminal and standard output is redirected. */
export const progressIfRedirected = ({ screen, runtime: { stderr, now } }: Invocation): Progress =>
  createProgress(!screen.isTerminal && stderr.isTTY === true, stderr, now)
