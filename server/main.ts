// The entry point of stemmad.
import { randomBytes } from 'node:crypto'
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { runCommand } = await import('./commands/commands.ts')
const context = { env: process.env, now: Date.now, random: randomBytes }
process.exitCode = await runCommand(process.argv.slice(2), context)
