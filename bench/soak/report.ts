// The lines of the report, with the goals of a run.
import type { LoopDelay } from '../load/bench-process.mjs'
import type { Line } from '../report/report.ts'
import { plainLine } from '../report/report.ts'
import type { AttackCounts } from './attacks/attacker-process.ts'
import type { ClientResult } from './clients/client-process.ts'
import type { Summary } from './clients/outcomes.ts'
import type { Memory } from './memory.ts'

export const goals = { errors: 0, p99Ratio: 5, peakBytes: 400e6, offeredRatio: 2 }

export type Measured = {
  /** Calls per second of one server without other work. */
  capacity: number
  idle: ClientResult
  attacked: ClientResult
  attacks: AttackCounts
  attackSeconds: number
  /** Before the attack, in bytes. */
  idleMemory: number
  memory: Memory
  loopDelay: { idle: LoopDelay; attacked: LoopDelay }
}

export function linesOf(run: Measured): Line[] {
  const { capacity, idle, attacked, attacks, attackSeconds, idleMemory, memory, loopDelay } = run
  const names = Object.keys(attacked)
  const offered = Object.values(attacks).reduce((sum, { sent }) => sum + sent, 0) / attackSeconds
  return [
    ...names.flatMap((name) => latencyLines(name, idle[name], attacked[name])),
    errorLine('errors without attacks', idle),
    errorLine('errors under attack', attacked),
    {
      ...{ label: 'attack rate compared with capacity', measured: `${offered.toFixed(0)}/s` },
      ...{ baseline: `${capacity.toFixed(0)}/s`, ratio: (offered / capacity).toFixed(1) },
      ...{ goal: `${goals.offeredRatio} at least`, isMet: offered / capacity >= goals.offeredRatio },
    },
    {
      ...{ label: 'peak memory', measured: megabytes(memory.peak) },
      ...{ baseline: megabytes(idleMemory), ratio: (memory.peak / idleMemory).toFixed(1) },
      ...{ goal: `${megabytes(goals.peakBytes)} at most`, isMet: memory.peak <= goals.peakBytes },
    },
    plainLine('memory at the end', megabytes(memory.current)),
    delayLine(idle, attacked),
    ...loopLines(loopDelay),
  ]
}

function latencyLines(name: string, idle: Summary | undefined, attacked: Summary | undefined): Line[] {
  const line = (percentile: 'p50' | 'p99') => {
    const [measured, baseline] = [attacked?.[percentile] ?? Number.NaN, idle?.[percentile] ?? Number.NaN]
    return {
      ...{ label: `${name}, ${percentile}`, measured: milliseconds(measured) },
      ...{ baseline: milliseconds(baseline), ratio: (measured / baseline).toFixed(1) },
      ...{ goal: '', isMet: undefined, value: measured / baseline },
    }
  }
  const p99 = line('p99')
  return [line('p50'), { ...p99, goal: `${goals.p99Ratio} at most`, isMet: p99.value <= goals.p99Ratio }]
}

/** If the clients are delayed themselves, the machine is too busy for this measurement. */
function delayLine(idle: ClientResult, attacked: ClientResult): Line {
  const delayOf = (result: ClientResult) => Math.max(...Object.values(result).map(({ lateP99 }) => lateP99))
  return {
    ...plainLine('delay in the clients themselves, p99', milliseconds(delayOf(attacked))),
    baseline: milliseconds(delayOf(idle)),
  }
}

/** How late the server reads what has arrived. The latency of every call contains such a delay. */
const loopLines = ({ idle, attacked }: Measured['loopDelay']): Line[] =>
  (['p50', 'p99', 'max'] as const).map((name) => ({
    ...plainLine(`delay of the event loop, ${name}`, milliseconds(attacked[name])),
    baseline: milliseconds(idle[name]),
  }))

function errorLine(label: string, result: ClientResult): Line {
  const errors = Object.values(result).flatMap((summary) => Object.values(summary.errors))
  const errorCount = errors.reduce((sum, count) => sum + count, 0)
  const calls = Object.values(result).reduce((sum, summary) => sum + summary.calls, 0)
  return {
    ...{ label, measured: `${errorCount} of ${calls + errorCount}`, baseline: '', ratio: '' },
    ...{ goal: `${goals.errors}`, isMet: errorCount <= goals.errors },
  }
}

/** The errors of each client, and what each attack sent and received. */
export function detailsOf({ attacked, attacks }: Measured): string[] {
  const errors = Object.entries(attacked).flatMap(([name, summary]) =>
    Object.entries(summary.errors).map(([text, count]) => `${name}: ${text} (${count} times)`),
  )
  const sent = Object.entries(attacks).map(([name, count]) => {
    const statuses = Object.entries(count.statuses).map(([status, times]) => `${status} (${times} times)`)
    return `${name}: ${count.sent} requests${statuses.length > 0 ? `, answered ${statuses.join(', ')}` : ''}`
  })
  return [...errors, ...sent]
}

export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
export const milliseconds = (duration: number) => `${duration.toFixed(1)} ms`
