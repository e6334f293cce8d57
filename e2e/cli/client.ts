// Runs the real `stemma` with an empty home folder: as a child process, or in this process.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runHelper } from '../../cli/credential-helper/commands.ts'
import type { Runtime } from '../../cli/runtime.ts'
import { runStemma } from '../../cli/stemma.ts'
import { bundledProgram } from './bundled-program.ts'

export type ExitResult = { code: number | null; stdout: string; stderr: string }

export type Running = {
  /** Resolves as soon as standard error matches, and rejects if the program ends first. */
  stderrMatch(pattern: RegExp): Promise<RegExpExecArray>
  /** The same for standard output. */
  stdoutMatch(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<ExitResult>
}

export type RunningProcess = Running & { stop(): void }

type Arguments = [args: string[], input?: string, extraEnv?: NodeJS.ProcessEnv]

export type Client = {
  home: string
  /** The folder with the tokens of an audience. */
  tokenFolder(audience: string): string
  start(...command: Arguments): Running
  /** Starts a child process, also if the mode is `inline`. */
  startProcess(...command: Arguments): RunningProcess
  run(...command: Arguments): Promise<ExitResult>
  /** Runs `docker-credential-stemma` in this process. */
  runHelper(...command: Arguments): Promise<ExitResult>
  /** Starts `docker-credential-stemma` as docker does. */
  startHelper(...command: Arguments): RunningProcess
  /** Kills the child processes that still run, and removes the home folder. */
  remove(): Promise<void>
}

/**
 * How `stemma` is run: as a process through its launcher, as in a clone; as a process from the bundle that packages
 * contain, which takes half the time; or in this process, which takes a tenth of it.
 */
export type Mode = 'launcher' | 'process' | 'inline'

const launcher = join(import.meta.dirname, '../../cli/bin/stemma.mjs')
const helperLauncher = join(import.meta.dirname, '../../node_modules/.bin/docker-credential-stemma')
const main = join(import.meta.dirname, '../../cli/main.ts')
const programs = { launcher: () => launcher, process: bundledProgram, inline: () => main }
const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compile')

export async function openClient(mode: Mode = 'launcher'): Promise<Client> {
  const { folders, ...home } = await makeHome()
  const program = await programs[mode]()
  const processes: { child: ChildProcess; exited: Promise<unknown> }[] = []

  function spawnProgram(program: string, ...[args, input = '', extraEnv = {}]: Arguments): RunningProcess {
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache, ...folders, ...extraEnv }
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => undefined).end(input)
    const code = once(child, 'exit').then(([code]) => code as number | null)
    processes.push({ child, exited: code })
    return { ...watch(child.stdout, child.stderr, code), stop: () => void child.kill('SIGINT') }
  }

  const startProcess = (...command: Arguments) => spawnProgram(program, ...command)

  function runInline(program: typeof runStemma, ...[args, input = '', extraEnv = {}]: Arguments): Running {
    const [stdin, stdout, stderr] = [Readable.from([input]), new PassThrough(), new PassThrough()]
    const env = { PATH: process.env.PATH, ...folders, ...extraEnv }
    // The cast is safe: commands also run with pipes, so they need no terminal.
    const runtime = { env, now: Date.now, stdin, stdout, stderr } as unknown as Runtime
    const code = program(args, runtime).finally(() => {
      stdout.end()
      stderr.end()
    })
    return watch(stdout, stderr, code)
  }

  const start = (...command: Arguments) =>
    mode === 'inline' ? runInline(runStemma, ...command) : startProcess(...command)
  return {
    ...{ ...home, start, startProcess },
    run: (...command) => start(...command).ended,
    runHelper: (...command) => runInline(runHelper, ...command).ended,
    startHelper: (...command) => spawnProgram(helperLauncher, ...command),
    async remove() {
      for (const { child } of processes) child.kill('SIGKILL')
      await Promise.allSettled(processes.map(({ exited }) => exited))
      await home.remove()
    },
  }
}

function watch(stdout: Readable, stderr: Readable, code: Promise<number | null>): Running {
  const ended = Promise.all([text(stdout), text(stderr), code]).then(
    ([stdout, stderr, code]): ExitResult => ({ code, stdout, stderr }),
  )
  return {
    stdoutMatch: matcher(stdout, 'stdout', ended),
    stderrMatch: matcher(stderr, 'stderr', ended),
    ended,
  }
}

function matcher(stream: Readable, name: 'stdout' | 'stderr', ended: Promise<ExitResult>) {
  let textSoFar = ''
  stream.on('data', (chunk) => {
    textSoFar += chunk
  })
  return async (pattern: RegExp) => {
    for (;;) {
      const match = pattern.exec(textSoFar)
      if (match) return match
      const chunkOrResult = await Promise.race([once(stream, 'data'), ended])
      if (name in chunkOrResult && !pattern.test((chunkOrResult as ExitResult)[name]))
        throw new Error(`${name} does not match ${pattern}: ${(chunkOrResult as ExitResult)[name]}`)
    }
  }
}

async function makeHome() {
  const home = await mkdtemp(join(tmpdir(), 'stemma-client-'))
  return {
    home,
    folders: { HOME: home, XDG_CACHE_HOME: join(home, 'cache'), XDG_CONFIG_HOME: join(home, 'config') },
    tokenFolder: (audience: string) => join(home, 'cache', 'stemma', audience.replaceAll('/', '-')),
    remove: () => rm(home, { recursive: true, force: true }),
  }
}
