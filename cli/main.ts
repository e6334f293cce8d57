// The entry point of `stemma`, a client of the public API.
import { protectTerminal } from './plain-text.ts'
import { processRuntime } from './runtime.ts'
import { runStemma } from './stemma.ts'

// The reader of a pipe may close it early (`| head`). That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

for (const stream of [process.stdout, process.stderr]) protectTerminal(stream)

process.exitCode = await runStemma(process.argv.slice(2), processRuntime)
