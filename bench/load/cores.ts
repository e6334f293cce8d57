// Pins the server and the load generator to one core each, so that they do not compete.
import { spawnSync } from 'node:child_process'

/** `both` runs on the cores of the two others. */
export type Role = 'server' | 'load' | 'both'

const [first, second] = allowedCores()
const coreOf =
  first === undefined || second === undefined
    ? undefined
    : { server: first, load: second, both: `${first},${second}` }

export const pinning = coreOf
  ? `The server runs on core ${coreOf.server}, the load on core ${coreOf.load}.`
  : 'Nothing is pinned (no taskset, or a single core): server and load compete for the processor.'

/** The command that runs a program on the core of its role. */
export function pin(role: Role, command: string[]): string[] {
  return coreOf ? ['taskset', '-c', String(coreOf[role]), ...command] : command
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
