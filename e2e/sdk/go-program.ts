// Builds the program that calls with the published Go SDK, using the machine's Go and its module cache or proxy.
import type { ExecFileException, ExecFileOptions } from 'node:child_process'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause } from '../server/stemmad.ts'

const source = join(import.meta.dirname, 'go')
/** Generous, so that a slow machine does not reach them. */
const timeoutMs = { build: 300_000, run: 300_000 }

export type Ended = { code: number | string; stdout: string; stderr: string }

export type Running = {
  /** Resolves with the match when its standard output matches. */
  said(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<Ended>
}

export type GoProgram = {
  start(args: string[], env: NodeJS.ProcessEnv): Running
  remove(): Promise<void>
}

/** The program, or the reason why it cannot be built here. Source that does not compile is an error. */
export async function buildGoProgram(): Promise<GoProgram | string> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-go-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const program = join(folder, process.platform === 'win32' ? 'clients.exe' : 'clients')
  // Only the pinned versions are used: neither another Go nor other modules are downloaded.
  const env = {
    ...process.env,
    GOTOOLCHAIN: 'local',
    GOWORK: 'off',
    GOFLAGS: '-mod=readonly',
    CGO_ENABLED: '0',
  }
  const build = ['build', '-buildvcs=false', '-o', program, '.']
  const built = await start('go', build, { env, timeout: timeoutMs.build, cwd: source }).ended
  if (built.code === 0)
    return { start: (args, own) => start(program, args, { env: own, timeout: timeoutMs.run }), remove }
  await remove()
  const reason = reasonOf(built)
  if (reason === undefined) throw new Error(`e2e/sdk/go cannot be built:\n${built.stderr}`)
  return reason
}

function reasonOf({ code, stderr }: Ended): string | undefined {
  if (code === 'ENOENT') return 'there is no Go on this machine'
  if (code === 'SIGTERM') return `Go did not build it in ${timeoutMs.build / 1000} seconds`
  const lines = stderr.split('\n')
  const isOld = lines.find((line) => /requires go >= .*GOTOOLCHAIN=local/.test(line))
  const isUnreachable = lines.find((line) => /https?:\/\/|dial tcp|module lookup disabled/.test(line))
  if (isOld) return `this Go is too old: ${isOld}`
  if (isUnreachable) return `Go could not fetch the modules: ${isUnreachable}`
  return undefined
}

function start(file: string, args: string[], options: ExecFileOptions): Running {
  let heard = ''
  const { promise: ended, resolve } = Promise.withResolvers<Ended>()
  const child = execFile(file, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) =>
    resolve({ code: codeOf(error), stdout, stderr }),
  )
  child.stdout?.on('data', (chunk) => {
    heard += chunk
  })
  const said = async (pattern: RegExp) => {
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    for (;;) {
      const found = pattern.exec(heard)
      if (found) return found
      if (isOver) throw new Error(`it ended without saying ${pattern}:\n${heard}\n${(await ended).stderr}`)
      await pause(20)
    }
  }
  return { said, ended }
}

const codeOf = (error: ExecFileException | null) => (error ? (error.code ?? error.signal ?? 'unknown') : 0)
