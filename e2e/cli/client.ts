// Runs the real `stemma` as a child process with an empty home folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export type Ended = { code: number | null; stdout: string; stderr: string }

export type Running = {
  /** Resolves with the match when its standard error matches. */
  said(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<Ended>
  stop(): void
}

export type Client = {
  home: string
  /** The folder with the tokens of an audience. */
  tokenFolder(audience: string): string
  start(args: string[], input?: string, more?: NodeJS.ProcessEnv): Running
  run(args: string[], input?: string, more?: NodeJS.ProcessEnv): Promise<Ended>
  remove(): Promise<void>
}

const launcher = join(import.meta.dirname, '../../cli/bin/stemma.mjs')
const main = join(import.meta.dirname, '../../cli/main.ts')
const compileCache = join(import.meta.dirname, '../../node_modules/.cache/compile')

/** Starts it through its launcher, as users do; or directly on the Node of the tests, which is faster for many commands. */
export async function openClient(isDirect = false): Promise<Client> {
  const home = await mkdtemp(join(tmpdir(), 'stemma-client-'))
  const folders = { HOME: home, XDG_CACHE_HOME: join(home, 'cache'), XDG_CONFIG_HOME: join(home, 'config') }

  function start(args: string[], input = '', more: NodeJS.ProcessEnv = {}): Running {
    const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache, ...folders, ...more }
    const program = isDirect ? main : launcher
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => undefined).end(input)
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
      ([stdout, stderr, [code]]): Ended => ({ code, stdout, stderr }),
    )
    let heard = ''
    child.stderr.on('data', (chunk) => {
      heard += chunk
    })
    const said = async (pattern: RegExp) => {
      for (;;) {
        const found = pattern.exec(heard)
        if (found) return found
        const end = await Promise.race([once(child.stderr, 'data'), ended])
        if ('stderr' in end && !pattern.test(end.stderr))
          throw new Error(`standard error was only: ${end.stderr}`)
      }
    }
    return { said, ended, stop: () => void child.kill('SIGINT') }
  }

  return {
    home,
    start,
    tokenFolder: (audience) => join(home, 'cache', 'stemma', audience.replaceAll('/', '-')),
    run: (args, input, more) => start(args, input, more).ended,
    remove: () => rm(home, { recursive: true, force: true }),
  }
}
