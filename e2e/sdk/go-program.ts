// Builds and runs e2e/sdk/go, a program that uses the published Go SDK, with the machine's Go and its module cache or
// proxy.
import type { ExecFileException, ExecFileOptions } from 'node:child_process'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause } from '../server/stemmad.ts'

const source = join(import.meta.dirname, 'go')
/** Long enough for slow machines. */
const timeoutMs = { build: 300_000, run: 300_000 }

export type ExitResult = { code: number | string; stdout: string; stderr: string }

export type Running = {
  /** Resolves as soon as standard output matches, and rejects if the program ends before that. */
  stdoutMatch(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<ExitResult>
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
  // Only the pinned versions are used: neither another Go nor other modules are downloaded. The compiler spends a fifth of
  // its time on garbage unless it may use more memory.
  const env = {
    ...process.env,
    GOTOOLCHAIN: 'local',
    GOWORK: 'off',
    GOFLAGS: '-mod=readonly',
    CGO_ENABLED: '0',
    GOGC: '400',
  }
  // Without optimizations and debug information, a build without a cache takes two thirds of the time.
  const flags = ['-buildvcs=false', '-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w']
  const build = ['build', ...flags, '-o', program, '.']
  const built = await start('go', build, { env, timeout: timeoutMs.build, cwd: source }).ended
  if (built.code === 0)
    return { start: (args, env) => start(program, args, { env, timeout: timeoutMs.run }), remove }
  await remove()
  const reason = skipReasonOf(built)
  if (reason === undefined) throw new Error(`e2e/sdk/go cannot be built:\n${built.stderr}`)
  return reason
}

function skipReasonOf({ code, stderr }: ExitResult): string | undefined {
  if (code === 'ENOENT') return 'Go is not installed'
  if (code === 'SIGTERM') return `Go did not build the program in ${timeoutMs.build / 1000} seconds`
  const lines = stderr.split('\n')
  const tooOldLine = lines.find((line) => /requires go >= .*GOTOOLCHAIN=local/.test(line))
  const unreachableLine = lines.find((line) => /https?:\/\/|dial tcp|module lookup disabled/.test(line))
  if (tooOldLine) return `this Go is too old: ${tooOldLine}`
  if (unreachableLine) return `Go could not fetch the modules: ${unreachableLine}`
  return undefined
}

function start(file: string, args: string[], options: ExecFileOptions): Running {
  let output = ''
  const { promise: ended, resolve } = Promise.withResolvers<ExitResult>()
  const child = execFile(file, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) =>
    resolve({ code: codeOf(error), stdout, stderr }),
  )
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  const stdoutMatch = async (pattern: RegExp) => {
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    for (;;) {
      const match = pattern.exec(output)
      if (match) return match
      if (isOver) throw new Error(`the output does not match ${pattern}:\n${output}\n${(await ended).stderr}`)
      await pause(20)
    }
  }
  return { stdoutMatch, ended }
}

const codeOf = (error: ExecFileException | null) => (error ? (error.code ?? error.signal ?? 'unknown') : 0)
