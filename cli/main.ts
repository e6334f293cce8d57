// The entry point of `stemma`, a client of the public API.
import { protectTerminal } from './plain-text.ts'
import { processRuntime } from './runtime.ts'
import { runStemma } from './stemma.ts'

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // The reader of a pipe may close it early (`| head`). That is not an error.
  if (code === 'EPIPE') process.exit(0)
  process.stderr.write(`stemma: standard output: ${message}\n`, () => process.exit(1))
})
// Errors of standard error cannot be reported. The exit code stays that of the command.
process.stderr.on('error', () => undefined)

for (const stream of [process.stdout, process.stderr]) protectTerminal(stream)

process.exitCode = await runStemma(process.argv.slice(2), processRuntime)
