// Makes a line of the report: measures a server and its baseline in alternation.
import type { Load, Sample } from '../load/load.ts'
import { measure } from '../load/load.ts'
import type { Process, Server } from '../load/processes.ts'
import { alternate, median, ratioOf } from '../load/rounds.ts'
import type { Line } from './report.ts'

/** Many short rounds, so that a disturbance from outside affects both sides of a round. */
export const rounds = 21
/** Time for which each side is measured in a round. */
export const seconds = 0.4
/** Warm-up: the JIT compiler still improves the code of lists after ten thousand calls. */
export const warmSeconds = 10

export type Comparison = { load: Process; server: Server; bare: Server; task: Omit<Load, 'port'> }

/** Without `minRatio`, the line has no goal. */
export async function ratioLine(label: string, comparison: Comparison, minRatio?: number): Promise<Line> {
  const { load, server, bare, task } = comparison
  for (const side of [server, bare]) await measure(load, side, { ...task, seconds: warmSeconds })
  const samples = await alternate(
    rounds,
    () => measure(load, server, task),
    () => measure(load, bare, task),
  )
  const ratio = ratioOf(samples.ours.map(perCpu), samples.baseline.map(perCpu))
  return {
    ...{ label, measured: rates(samples.ours), baseline: rates(samples.baseline) },
    ...{ ratio: ratio.toFixed(2), goal: minRatio?.toFixed(2) ?? '' },
    isMet: minRatio === undefined ? undefined : ratio >= minRatio,
  }
}

const perCpu = (sample: Sample) => sample.perCpu

/** Responses per second of the server's CPU time, and per second of the clock. */
export const rates = (samples: readonly Sample[]) =>
  `${short(median(samples.map(perCpu)))}/cpu s, ${short(median(samples.map(({ rate }) => rate)))}/s`

export const short = (count: number) => (count >= 1000 ? `${(count / 1000).toFixed(1)}k` : count.toFixed(0))
