// The registry of the CNCF (github.com/distribution/distribution), if this machine has it: the program of the
// environment variable STEMMA_BENCH_DISTRIBUTION, or `registry` in the PATH.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../api/testing/free-port.ts'
import type { Usage } from '../load/bench-process.mjs'
import { pin } from '../load/cores.ts'
import type { Server } from '../load/processes.ts'

/** Undefined if there is no such program, or if its major version is not 3. */
export function findDistribution(): { program: string; version: string } | undefined {
  const program = process.env.STEMMA_BENCH_DISTRIBUTION ?? 'registry'
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, version] = /distribution\S* (v3\.\S+)/.exec(stdout ?? '') ?? []
  return version === undefined ? undefined : { program, version }
}

/**
 * Without a log of requests, and without the optional cache of blob sizes in memory. With that
 * cache, HEAD of a blob took half as much CPU time, and everything else the same.
 */
const settingsOf = (folder: string, port: number) => `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: ${folder}}}
http: {addr: '127.0.0.1:${port}'}
`

export async function startDistribution(program: string): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-bench-'))
  const port = await freePort()
  const settings = join(folder, 'config.yml')
  await writeFile(settings, settingsOf(join(folder, 'content'), port))
  const [command = '', ...args] = pin('server-core', [program, 'serve', settings])
  const env = { ...process.env, OTEL_TRACES_EXPORTER: 'none' }
  const child = spawn(command, args, { env, stdio: 'ignore' })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  }
  await untilListening(port).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  const pid = child.pid ?? Number.NaN // undefined only if the process could not be started
  // Nothing but the usage is ever asked of this server.
  return { pid, port, stop, [Symbol.asyncDispose]: stop, ask: async <T>() => usageOf(pid) as T }
}

const pageBytes = 4096
const ticksPerSecond = 100

/** Read from /proc (proc(5)): fields 14 and 15 are CPU time in user and kernel mode, field 24 the resident pages. */
function usageOf(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, pages = 0] = [fields[11], fields[12], fields[21]]
  return { cpu: (user + system) / ticksPerSecond, memory: pages * pageBytes }
}

async function untilListening(port: number): Promise<void> {
  const timeout = AbortSignal.timeout(10_000)
  while (!timeout.aborted) {
    const isReady = await fetch(`http://127.0.0.1:${port}/v2/`, { signal: timeout }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('distribution was not ready within 10 s')
}
