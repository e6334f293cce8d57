/** Listens for errors of the output streams, which would otherwise end the program with a stack trace. */
export function handleOutputErrors(program: string): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // The reader of a pipe may close it early (`| head`). That is not an error.
    if (code === 'EPIPE') process.exit(0)
    process.stderr.write(`${program}: standard output: ${message}\n`, () => process.exit(1))
  })
  // Errors of standard error cannot be reported. The exit code stays that of the command.
  process.stderr.on('error', () => undefined)
}
