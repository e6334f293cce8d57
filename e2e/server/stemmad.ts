// Runs the real stemmad as an operator does: through its launcher, on the machine's Node; or in this process.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { CommandContext } from '../../server/commands/command.ts'
import { runCommand } from '../../server/commands/commands.ts'

/** A launcher and the Node that starts it. */
export type Program = { node: string; launcher: string }

const ours: Program = {
  // npm_node_execpath is the machine's Node; the tests may run on another.
  node: process.env.npm_node_execpath ?? process.execPath,
  launcher: join(import.meta.dirname, '../../server/bin/stemmad.mjs'),
}

export type ExitResult = { code: number; stdout: string; stderr: string }

export type RunningServer = {
  port: number
  url: string
  greeting: string
  /** The standard output so far. */
  output(): string
  /** The log lines so far. */
  log(): Record<string, unknown>[]
  /** Signals the launcher, or its whole process group. */
  signal(signal: NodeJS.Signals, isToGroup?: boolean): void
  exited: Promise<ExitResult>
}

export const temporaryFolder = () => mkdtemp(join(tmpdir(), 'stemma-serve-'))
export const remove = (folder: string) => rm(folder, { recursive: true, force: true })

function start(
  folder: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
  { node, launcher }: Program = ours,
): ChildProcess {
  return spawn(node, [launcher, ...args], {
    cwd: folder,
    // Without the environment of the tests, and in a process group of its own.
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
    detached: true,
  })
}

/** `piped` is the standard input of stemmad. */
export async function runStemmad(
  folder: string,
  args: string[],
  env?: NodeJS.ProcessEnv,
  piped?: string,
  program?: Program,
): Promise<ExitResult> {
  const child = start(folder, args, env, piped === undefined ? 'ignore' : 'pipe', program)
  child.stdin?.end(piped)
  return watch(child).exited
}

/** Runs a command of stemmad in this process, which is faster than a process of its own. */
export async function runStemmadInline(args: string[], piped = ''): Promise<ExitResult> {
  const [stdin, stdout, stderr] = [Readable.from([piped]), new PassThrough(), new PassThrough()]
  const streams = { stdin, stdout, stderr } as unknown as CommandContext // commands use only what a pipe has as well
  const ended = runCommand(args, { ...streams, env: {}, now: Date.now, random: randomBytes }).finally(() => {
    stdout.end()
    stderr.end()
  })
  const [code, out, err] = await Promise.all([ended, text(stdout), text(stderr)])
  return { code, stdout: out, stderr: err }
}

/** Runs stemmad until the condition holds, then kills it. */
export async function runAndKill(
  folder: string,
  args: string[],
  condition: () => Promise<boolean>,
): Promise<void> {
  const child = start(folder, args)
  const { exited } = watch(child)
  let isOver = false
  void exited.then(() => {
    isOver = true
  })
  while (!isOver && !(await condition())) await pause(5)
  // Kills the launcher and the server.
  if (!isOver && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  await exited
}

function watch(child: ChildProcess) {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk) => (stdout += chunk))
  child.stderr?.on('data', (chunk) => (stderr += chunk))
  const exited = once(child, 'close').then(
    ([code, signal]): ExitResult => ({ code: code ?? signal, stdout, stderr }),
  )
  return { exited, output: () => stdout }
}

/** Resolves when the server has printed its address. */
export async function serve(folder: string, args: string[] = [], program?: Program): Promise<RunningServer> {
  const fixed = ['serve', '--port', '0', '--base-url', 'http://stemma.test']
  const child = start(folder, [...fixed, ...args], {}, 'ignore', program)
  const { exited, output } = watch(child)
  const isUp = new Promise<void>((resolve) => {
    child.stdout?.on('data', () => {
      if (output().includes('Ctrl-C')) resolve()
    })
  })
  await Promise.race([isUp, exited.then(({ stderr }) => Promise.reject(new Error(`stemmad: ${stderr}`)))])
  const port = Number(/on 127\.0\.0\.1:(\d+)/.exec(output())?.[1])
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    greeting: output(),
    output,
    log: () =>
      output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line)),
    signal(signal, isToGroup = false) {
      const isRunning = child.exitCode === null && child.signalCode === null
      if (isRunning && child.pid !== undefined) process.kill(isToGroup ? -child.pid : child.pid, signal)
    },
    exited,
  }
}

export type Bootstrapped = {
  organization: { uid: string; name: string }
  identity: { uid: string }
  token: string
}

export async function bootstrap(folder: string, ...args: string[]): Promise<Bootstrapped> {
  const fixed = ['--org', 'acme', '--json', '--base-url', 'http://stemma.test']
  const { code, stdout, stderr } = await runStemmad(folder, ['bootstrap', ...fixed, ...args])
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Polls until the condition holds; the test's own timeout ends a wait that is too long. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await pause(20)
}

export const statusOf = async (url: string) => {
  const response = await fetch(url, { headers: { connection: 'close' } })
  await response.arrayBuffer()
  return response.status
}
