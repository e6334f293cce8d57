// The entry point of `stemma`, a client of the public API.
import { handleOutputErrors } from './output-errors.ts'
import { protectTerminal } from './plain-text.ts'
import { processRuntime } from './runtime.ts'
import { runStemma } from './stemma.ts'

handleOutputErrors('stemma')

for (const stream of [process.stdout, process.stderr]) protectTerminal(stream)

process.exitCode = await runStemma(process.argv.slice(2), processRuntime)
