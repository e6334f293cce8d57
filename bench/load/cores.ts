// Pins the server and the load generator to one core each, so that they do not compete.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export type Cores = 'server-core' | 'load-core' | 'both-cores'

const [first, second] = allowedCores()
const coreNumbers: Record<Cores, string> | undefined =
  first === undefined || second === undefined
    ? undefined
    : { 'server-core': `${first}`, 'load-core': `${second}`, 'both-cores': `${first},${second}` }

export const pinning = coreNumbers
  ? `The server runs on core ${coreNumbers['server-core']}, the load on core ${coreNumbers['load-core']}.`
  : 'Nothing is pinned (no taskset, or a single core): server and load compete for the processor.'

/** The command that runs a program on these cores. */
export function pin(cores: Cores, command: string[]): string[] {
  return coreNumbers ? ['taskset', '-c', coreNumbers[cores], ...command] : command
}

/**
 * The command that runs a program on these cores with a lower priority (`nice`). If nothing is
 * pinned, the priority is not lowered either.
 */
export function pinInBackground(cores: Cores, command: string[]): string[] {
  return coreNumbers ? ['nice', '-n', '10', ...pin(cores, command)] : command
}

/**
 * Pins the two workers of a server to one core each. Finds their threads by the name that Node
 * gives worker threads on Linux.
 */
export function pinWorkers(pid: number): void {
  if (!coreNumbers) return
  const threads = readdirSync(`/proc/${pid}/task`).filter((id) =>
    readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').startsWith('WorkerThread'),
  )
  if (threads.length !== 2) throw new Error(`the server has ${threads.length} workers in place of 2`)
  for (const [at, core] of [coreNumbers['server-core'], coreNumbers['load-core']].entries())
    spawnSync('taskset', ['-cp', core, threads[at] ?? ''])
}

function allowedCores(): number[] {
  const { stdout, status } = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' })
  if (status !== 0) return []
  const ranges = (/: ([\d,-]+)\s*$/.exec(stdout)?.[1] ?? '').split(',')
  return ranges.flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, at) => from + at)
  })
}
