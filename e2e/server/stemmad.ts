// Runs the real stemmad as an operator does, through its launcher. `runStemmadInline` runs it in this process instead.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { nodeFlagsOf } from '../../server/bin/node-flags.mjs'
import type { CommandContext } from '../../server/commands/command.ts'
import { runCommand } from '../../server/commands/commands.ts'

/** A launcher and the Node that starts it, with its flags. */
export type Program = { node: string; launcher: string; flags?: string[] }

const launcher = join(import.meta.dirname, '../../server/bin/stemmad.mjs')
/** Uses the Node that runs the tests, with the flags of the command, so that the launcher does not start Node again. */
const programFor = (command?: string): Program => ({
  node: process.execPath,
  launcher,
  flags: nodeFlagsOf(command),
})
/** Runs on the Node of the machine, which runs npm. It may differ from the pinned one. */
export const machineProgram: Program = {
  launcher,
  node: process.env.npm_node_execpath ?? process.execPath,
}

/** `code` is the signal if a signal ended the process. */
export type ExitResult = { code: number | NodeJS.Signals; stdout: string; stderr: string }

export type RunningServer = {
  /** The process id of the launcher. The server has the same one if the launcher was replaced by it (execve). */
  pid: number
  port: number
  url: string
  /** The standard output until the server was ready. */
  greeting: string
  /** The standard output so far. */
  output(): string
  /** The log lines so far. */
  log(): Record<string, unknown>[]
  /** Sends a signal to the launcher, or with `isToGroup` to its process group: the launcher and the server. */
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
  { node, launcher, flags = [] }: Program = programFor(args[0]),
): ChildProcess {
  return spawn(node, [...flags, launcher, ...args], {
    cwd: folder,
    // The child does not inherit the environment of the tests. `detached` gives it its own process group.
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
    detached: true,
  })
}

/** `input` is the text of the standard input. */
export async function runStemmad(
  folder: string,
  args: string[],
  env?: NodeJS.ProcessEnv,
  input?: string,
  program?: Program,
): Promise<ExitResult> {
  const child = start(folder, args, env, input === undefined ? 'ignore' : 'pipe', program)
  child.stdin?.end(input)
  return watch(child).exited
}

/** The flags that select the store of a process that runs in the folder. */
export const dataDirFlags = (folder: string) => ['--data-dir', join(folder, 'data')]

/** Runs a command of stemmad in this process. A new process takes half a second of CPU time. */
export async function runStemmadInline(args: string[], input = ''): Promise<ExitResult> {
  const [stdin, stdout, stderr] = [Readable.from([input]), new PassThrough(), new PassThrough()]
  // Commands use only those properties of the standard streams that these streams have too.
  const streams = { stdin, stdout, stderr } as unknown as CommandContext
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
  let hasExited = false
  void exited.then(() => {
    hasExited = true
  })
  while (!hasExited && !(await condition())) await pause(5)
  // A negative id kills the whole process group: the launcher and the server.
  if (!hasExited && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
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

/** Starts a server. Resolves when the server has printed its address. `args` can override the default arguments. */
export async function serve(folder: string, args: string[] = [], program?: Program): Promise<RunningServer> {
  const defaultArgs = ['serve', '--port', '0', '--base-url', 'http://stemma.test']
  const child = start(folder, [...defaultArgs, ...args], {}, 'ignore', program)
  const { exited, output } = watch(child)
  const started = new Promise<void>((resolve) => {
    child.stdout?.on('data', () => {
      if (output().includes('Ctrl-C')) resolve()
    })
  })
  await Promise.race([started, exited.then(({ stderr }) => Promise.reject(new Error(`stemmad: ${stderr}`)))])
  const port = Number(/on 127\.0\.0\.1:(\d+)/.exec(output())?.[1])
  return {
    pid: child.pid as number, // it has started
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

/** Creates an organization in the store of a server that runs, or will run, in the folder. */
export async function bootstrap(folder: string, ...args: string[]): Promise<Bootstrapped> {
  const defaultArgs = ['--org', 'acme', '--json', '--base-url', 'http://stemma.test', ...dataDirFlags(folder)]
  const { code, stdout, stderr } = await runStemmadInline(['bootstrap', ...defaultArgs, ...args])
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Polls until the condition holds. Only the timeout of the test, if it has one, limits the wait. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await pause(20)
}

export const statusOf = async (url: string) => {
  const response = await fetch(url, { headers: { connection: 'close' } })
  await response.arrayBuffer()
  return response.status
}
