/** The parts of the process that a command uses. Tests pass replacements. */
export type Runtime = {
  env: NodeJS.ProcessEnv
  /** Milliseconds since 1970. */
  now: () => number
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
}

export const processRuntime: Runtime = {
  env: process.env,
  now: Date.now,
  // The streams are getters, because Node creates each of them when it is first read.
  get stdin() {
    return process.stdin
  },
  get stdout() {
    return process.stdout
  },
  get stderr() {
    return process.stderr
  },
}

/** Writes a message for people to standard error, because standard output contains only results. */
export function report({ stderr }: Pick<Runtime, 'stderr'>, line: string): void {
  stderr.write(`${line}\n`)
}
