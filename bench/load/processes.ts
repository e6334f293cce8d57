// The processes of a benchmark: pinned to cores, controlled over IPC, ended when this process ends.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { allocatorEnvironment, nodeFlagsOf } from '../../server/bin/node-flags.mjs'
import { serverProgram } from '../../server/bin/program.mjs'
import type { LoopDelay, Usage } from './bench-process.mjs'
import type { Cores } from './cores.ts'
import { pin, pinInBackground } from './cores.ts'

const root = join(import.meta.dirname, '../..')
const benchProcess = join(import.meta.dirname, 'bench-process.mjs')
/** What `npm start` runs: a bundle, or the sources if they have changed since it was made. */
const stemmad = serverProgram()
export const measuredProgram = `The server runs from ${stemmad.endsWith('.ts') ? 'its sources' : 'a bundle'}.`
const peakReporter = join(import.meta.dirname, 'peak.mjs')

/** Disposing of a process stops it. */
export type Process = AsyncDisposable & {
  pid: number
  /** Sends a message and waits for the answer. */
  ask<T>(message: unknown): Promise<T>
  stop(): Promise<void>
}

export type Server = Process & { port: number }

export const usageOf = (process: Process) => process.ask<Usage>('usage')
/** Returns the delays since the previous call, and starts to measure again. */
export const takeLoopDelay = (process: Process) => process.ask<LoopDelay>('loop-delay')

const stopTimeoutMs = 10_000

export const startProcess = (cores: Cores, file: string, args: string[] = [], nodeFlags: string[] = []) =>
  start(pin(cores, commandOf(file, args, nodeFlags)))

/** `args` begin with `serve`. */
export const startServe = (cores: Cores, args: string[]) =>
  startProcess(cores, stemmad, args, nodeFlagsOf('serve'))

/** Like `startProcess`, for a process with a lower priority (`nice`). */
export const startInBackground = (cores: Cores, file: string) =>
  start(pinInBackground(cores, commandOf(file, [], [])))

function commandOf(file: string, args: string[], nodeFlags: string[]): string[] {
  const flags = ['--disable-warning=ExperimentalWarning', ...nodeFlags, '--import', benchProcess]
  return [process.execPath, ...flags, resolve(root, file), ...args]
}

function start([command = '', ...commandArgs]: string[]): Process {
  // Standard output is discarded. It is not a terminal, so the log is buffered as in production.
  const env = { ...allocatorEnvironment, ...process.env }
  const child = spawn(command, commandArgs, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env })
  const exited = once(child, 'exit')
  async function stop() {
    child.kill('SIGINT')
    const killTimer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await exited
    clearTimeout(killTimer)
  }
  return {
    pid: child.pid ?? Number.NaN, // undefined only if the process could not be started
    ask: (message) => ask(child, exited, message),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function ask<T>(child: ChildProcess, exited: Promise<unknown[]>, message: unknown): Promise<T> {
  const answered = once(child, 'message')
  // The cast satisfies the type of `send`. The callback ignores errors: if the process has ended, `exited` reports it.
  child.send(message as object, () => {})
  const [answer] = await Promise.race([
    answered,
    exited.then(([code]) => [new Error(`a process of the benchmark ended with exit code ${code}`)]),
  ])
  if (answer instanceof Error) throw answer
  return answer as T
}

/** Starts a bare server that sends `response` to every request. */
export async function startBareServer(file: string, response: unknown): Promise<Server> {
  const server = startProcess('server-core', file)
  return { ...server, port: await server.ask<number>(response) }
}

/**
 * One client makes more calls than a server admits by default. The limits are raised, not switched
 * off, so that their cost is measured.
 */
export const highRates = ['read', 'list', 'write', 'exchange'].flatMap((name) => [
  `--rate-${name}`,
  ['caller', 'organization', 'address'].map((scope) => `${scope}=10000000`).join(','),
])

/** With `sourceFlags`, the sources run, with these flags of Node. */
export async function startStemmad(
  settings: string[],
  port: number,
  cores: Cores = 'server-core',
  sourceFlags?: string[],
): Promise<Server> {
  const args = ['serve', ...settings, ...highRates, '--rate-sign-in', 'address=10000000']
  const server = sourceFlags
    ? startProcess(cores, 'server/main.ts', args, [...nodeFlagsOf('serve'), ...sourceFlags])
    : startServe(cores, args)
  await untilReady(port).catch(async (error: unknown) => {
    await server.stop()
    throw error
  })
  return { ...server, port }
}

/** Runs a `stemmad` command to its end, on all cores. Returns its duration and its peak memory in bytes. */
export async function runMeasured(args: string[]): Promise<{ seconds: number; memory: number }> {
  const flags = ['--disable-warning=ExperimentalWarning', ...nodeFlagsOf(args[0]), '--import', peakReporter]
  const started = performance.now()
  const child = spawn(process.execPath, [...flags, stemmad, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const reported = once(child, 'message')
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`stemmad ${args[0]} ended with exit code ${code}`)
  const seconds = (performance.now() - started) / 1000
  return { seconds, memory: (await reported)[0] as number }
}

const readyTimeoutMs = 20_000

/** Resolves when /readyz returns 200. */
export async function untilReady(port: number): Promise<void> {
  const timeout = AbortSignal.timeout(readyTimeoutMs)
  while (!timeout.aborted) {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: timeout }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error(`the server was not ready within ${readyTimeoutMs} ms`)
}
