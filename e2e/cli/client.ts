// Runs the real `stemma` as a child process with an empty home folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export type ExitResult = { code: number | null; stdout: string; stderr: string }

export type Running = {
  /** Resolves as soon as standard error matches, and rejects if the program ends before. */
  stderrMatch(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<ExitResult>
  stop(): void
}

export type Client = {
  home: string
  /** The folder with the tokens of an audience. */
  tokenFolder(audience: string): string
  start(args: string[], input?: string, extraEnv?: NodeJS.ProcessEnv): Running
  run(args: string[], input?: string, extraEnv?: NodeJS.ProcessEnv): Promise<ExitResult>
  remove(): Promise<void>
}

const launcher = join(import.meta.dirname, '../../cli/bin/stemma.mjs')
const main = join(import.meta.dirname, '../../cli/main.ts')
const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compile')

/** Runs `stemma` through its launcher, as users do, or without it if `isDirect`, which is faster for many commands. */
export async function openClient(isDirect = false): Promise<Client> {
  const home = await mkdtemp(join(tmpdir(), 'stemma-client-'))
  const folders = { HOME: home, XDG_CACHE_HOME: join(home, 'cache'), XDG_CONFIG_HOME: join(home, 'config') }

  function start(args: string[], input = '', extraEnv: NodeJS.ProcessEnv = {}): Running {
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache, ...folders, ...extraEnv }
    const program = isDirect ? main : launcher
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => undefined).end(input)
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
      ([stdout, stderr, [code]]): ExitResult => ({ code, stdout, stderr }),
    )
    let stderrSoFar = ''
    child.stderr.on('data', (chunk) => {
      stderrSoFar += chunk
    })
    const stderrMatch = async (pattern: RegExp) => {
      for (;;) {
        const match = pattern.exec(stderrSoFar)
        if (match) return match
        const end = await Promise.race([once(child.stderr, 'data'), ended])
        if ('stderr' in end && !pattern.test(end.stderr))
          throw new Error(`standard error does not match ${pattern}: ${end.stderr}`)
      }
    }
    return { stderrMatch, ended, stop: () => void child.kill('SIGINT') }
  }

  return {
    home,
    start,
    tokenFolder: (audience) => join(home, 'cache', 'stemma', audience.replaceAll('/', '-')),
    run: (args, input, extraEnv) => start(args, input, extraEnv).ended,
    remove: () => rm(home, { recursive: true, force: true }),
  }
}
