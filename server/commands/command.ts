import { StatusError, textOf } from '../aip/errors.ts'
import type { RandomBytes } from '../crypto/random.ts'

/** A command of stemmad. */
export type Command = {
  /** The command line after `stemmad`. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Further lines for `stemmad COMMAND --help`. */
  details?: string
  /** Returns the exit code. `args` follow the name of the command. */
  run(args: string[], context: CommandContext): Promise<number>
}

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

/** Rethrows a `StatusError` as a `UsageError`, because the caller in a command is the operator. */
export function throwUsageError(error: unknown): never {
  throw error instanceof StatusError ? new UsageError(textOf(error)) : error
}

export const usageOf = ({ usage }: Pick<Command, 'usage'>) => new UsageError(`Usage: stemmad ${usage}`)
