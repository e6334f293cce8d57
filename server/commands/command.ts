import type { RandomBytes } from '../crypto/random.ts'
import type { CommandName } from './help-texts.ts'
import { helpTexts } from './help-texts.ts'

/** A command of stemmad. Returns the exit code. `args` follow the name of the command. */
export type Command = (args: string[], context: CommandContext) => Promise<number>

/** The parts of the process that a command uses. Tests pass substitutes. */
export type CommandContext = {
  env: NodeJS.ProcessEnv
  now(): number
  random: RandomBytes
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
}

/** A mistake that the operator can correct. It is printed as one line, without a stack. */
export class UsageError extends Error {}

export const usageOf = (name: CommandName) => new UsageError(`Usage: stemmad ${helpTexts[name].usage}`)
