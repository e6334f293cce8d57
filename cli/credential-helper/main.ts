// The entry point of `docker-credential-stemma`.
import { processRuntime } from '../runtime.ts'
import { runHelper } from './commands.ts'

process.exitCode = await runHelper(process.argv.slice(2), processRuntime)
