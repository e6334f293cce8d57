// The entry point of stemmad.
import { randomBytes } from 'node:crypto'
import { enableCompileCache } from 'node:module'
import { resolveQuickly } from './resolve-imports.ts'

enableCompileCache()
resolveQuickly(new URL('..', import.meta.url).href)
const { runCommand } = await import('./commands/commands.ts')
const { env, stdin, stdout, stderr } = process
const context = { env, now: Date.now, random: randomBytes, stdin, stdout, stderr }
process.exitCode = await runCommand(process.argv.slice(2), context)
