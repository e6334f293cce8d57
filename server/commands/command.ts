export type Command = {
  /** How it is called, after `stemmad`. */
  usage: string
  about: string
  run(args: string[]): Promise<number>
}

/** Something the operator can mend; told in one line, without a stack. */
export class UsageError extends Error {}
