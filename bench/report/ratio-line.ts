// Load on a server and on its bound in turns, as a line of the table.
import type { Load, Sample } from '../load/load.ts'
import { measure } from '../load/load.ts'
import type { Process, Server } from '../load/processes.ts'
import { inTurns, median, ratioOf } from '../load/rounds.ts'
import type { Line } from './report.ts'

/** Many and short, so that a disturbance from outside meets both sides of a turn. */
const rounds = 21
export const seconds = 0.4
/** Until the compiler has seen enough: of lists it still improves what it made after ten thousand calls. */
export const warmSeconds = 10

export type Contest = { load: Process; server: Server; bare: Server; task: Omit<Load, 'port'> }

export async function ratioLine(what: string, contest: Contest, least: number): Promise<Line> {
  const { load, server, bare, task } = contest
  for (const side of [server, bare]) await measure(load, side, { ...task, seconds: warmSeconds })
  const taken = await inTurns(
    rounds,
    () => measure(load, server, task),
    () => measure(load, bare, task),
  )
  const ratio = ratioOf(taken.ours.map(perCpu), taken.bound.map(perCpu))
  return {
    ...{ what, measured: rates(taken.ours), bound: rates(taken.bound) },
    ...{ ratio: ratio.toFixed(2), toReach: least.toFixed(2), isReached: ratio >= least },
  }
}

const perCpu = (sample: Sample) => sample.perCpu

/** In a second of the server's processor, and in a second of the clock. */
export const rates = (samples: readonly Sample[]) =>
  `${short(median(samples.map(perCpu)))}/cpu s, ${short(median(samples.map(({ rate }) => rate)))}/s`

export const short = (count: number) => (count >= 1000 ? `${(count / 1000).toFixed(1)}k` : count.toFixed(0))
