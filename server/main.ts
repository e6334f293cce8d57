// The entry point of stemmad.
import { randomBytes } from 'node:crypto'
import { enableCompileCache } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolveQuickly } from './resolve-imports.ts'

// Threads use the compile cache only if the environment names it: each thread then takes 20 MB less memory.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')
enableCompileCache()
resolveQuickly(new URL('..', import.meta.url).href)
// All workers sign and verify tokens in the thread pool of libuv. Its default of 4 threads is too few for many cores.
process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism()))
const { runCommand } = await import('./commands/commands.ts')
const { env, stdin, stdout, stderr } = process
const context = { env, now: Date.now, random: randomBytes, stdin, stdout, stderr }
process.exitCode = await runCommand(process.argv.slice(2), context)
