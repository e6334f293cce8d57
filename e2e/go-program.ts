// The program that calls with the published Go SDK, built with the Go of the machine. Its modules come from Go's own
// cache, or from where the machine has them from.
import type { ExecFileException } from 'node:child_process'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = join(import.meta.dirname, 'clients/go')
const patience = { build: 180_000, run: 90_000 }

export type Ended = { code: number | string; stdout: string; stderr: string }

export type GoProgram = {
  run(args: string[], env: NodeJS.ProcessEnv): Promise<Ended>
  remove(): Promise<void>
}

/** The program, or why this machine cannot have it. Source that does not compile is an error. */
export async function buildGoProgram(): Promise<GoProgram | string> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-go-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const program = join(folder, process.platform === 'win32' ? 'clients.exe' : 'clients')
  // What is pinned is what is used: neither another Go nor other modules are fetched in its place.
  const env = {
    ...process.env,
    GOTOOLCHAIN: 'local',
    GOWORK: 'off',
    GOFLAGS: '-mod=readonly',
    CGO_ENABLED: '0',
  }
  const built = await run('go', ['build', '-buildvcs=false', '-o', program, '.'], env, patience.build, source)
  if (built.code === 0)
    return { run: (args, more) => run(program, args, { PATH: env.PATH, ...more }, patience.run), remove }
  await remove()
  const reason = reasonOf(built)
  if (reason === undefined) throw new Error(`e2e/clients/go cannot be built:\n${built.stderr}`)
  return reason
}

function reasonOf({ code, stderr }: Ended): string | undefined {
  if (code === 'ENOENT') return 'there is no Go on this machine'
  if (code === 'SIGTERM') return `Go did not build it in ${patience.build / 1000} seconds`
  const lines = stderr.split('\n')
  const isOld = lines.find((line) => /requires go >= .*GOTOOLCHAIN=local/.test(line))
  const isUnreachable = lines.find((line) => /https?:\/\/|dial tcp|module lookup disabled/.test(line))
  if (isOld) return `this Go is too old: ${isOld}`
  if (isUnreachable) return `Go could not fetch the modules: ${isUnreachable}`
  return undefined
}

function run(
  file: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  timeout: number,
  cwd?: string,
): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { env, timeout, ...(cwd && { cwd }) }, (error, stdout, stderr) => {
      resolve({ code: codeOf(error), stdout, stderr })
    })
  })
}

const codeOf = (error: ExecFileException | null) => (error ? (error.code ?? error.signal ?? 'unknown') : 0)
