// stemmad: the server and its administration.
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { runCommand } = await import('./commands/commands.ts')
process.exitCode = await runCommand(process.argv.slice(2))
