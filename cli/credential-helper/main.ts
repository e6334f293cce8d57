// The entry point of `docker-credential-stemma`.
import { handleOutputErrors } from '../output-errors.ts'
import { processRuntime } from '../runtime.ts'
import { runHelper } from './commands.ts'

handleOutputErrors('docker-credential-stemma')

process.exitCode = await runHelper(process.argv.slice(2), processRuntime)
