// The gain of a second core: two workers with two load generators on two cores, against one worker with one load
// generator on one core. So the load takes the same share of the processor on both sides. Everything is pinned, because
// the scheduler would sometimes put both workers on one core.
import type { Cores } from '../load/cores.ts'
import { pinWorkers } from '../load/cores.ts'
import type { LoadResult } from '../load/load.ts'
import type { Process } from '../load/processes.ts'
import { startProcess } from '../load/processes.ts'
import { alternate, median, ratioOf } from '../load/rounds.ts'
import { seconds, short, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { requestOf } from './rest-ratio.ts'

const rounds = 15
const minRatio = 1.8
const inFlight = 32

type Side = { bench: BenchServer; loads: Process[] }

export async function benchWorkers(): Promise<Line[]> {
  await using processes = new AsyncDisposableStack()
  const startLoad = (core: Cores) => processes.use(startProcess(core, loadProgram))
  const one: Side = {
    bench: processes.use(await startBenchServer(200)),
    loads: [startLoad('server-core')],
  }
  const two: Side = {
    bench: processes.use(await startBenchServer(200, ['--workers', '2'], undefined, 'both-cores')),
    loads: [startLoad('server-core'), startLoad('load-core')],
  }
  // The first signature starts the thread pool of Node, and its threads inherit the cores of the worker that starts it.
  // If that worker were pinned already, all signatures would be made on one core.
  await rateOf(two, exchangeOf(two.bench.authorization), 1)
  pinWorkers(two.bench.server.pid)
  return [
    await compare('Get group', one, two, ({ group, authorization }) =>
      requestOf(`/iam/v2beta1/groups/${group}`, authorization),
    ),
    await compare('Token exchange', one, two, ({ authorization }) => exchangeOf(authorization)),
  ]
}

const loadProgram = 'bench/load/http-load.ts'

/** The exchange of an access token for another one of the same identity. */
const exchangeOf = (authorization: string) =>
  `POST /sts/exchange HTTP/1.1\r\nhost: localhost\r\nauthorization: ${authorization}\r\ncontent-length: 0\r\n\r\n`

async function compare(
  label: string,
  one: Side,
  two: Side,
  requestFor: (bench: BenchServer) => string,
): Promise<Line> {
  const rate = (side: Side, duration = seconds) => rateOf(side, requestFor(side.bench), duration)
  for (const side of [one, two]) await rate(side, warmSeconds)
  const samples = await alternate(
    rounds,
    () => rate(two),
    () => rate(one),
  )
  const ratio = ratioOf(samples.ours, samples.baseline)
  return {
    label: `${label}, two workers on two cores against one worker on one core`,
    measured: `${short(median(samples.ours))}/s`,
    baseline: `${short(median(samples.baseline))}/s`,
    ...{ ratio: ratio.toFixed(2), goal: minRatio.toFixed(2), isMet: ratio >= minRatio },
  }
}

/** Responses per second, of all load generators together. */
async function rateOf({ bench, loads }: Side, request: string, duration: number): Promise<number> {
  const task = { port: bench.server.port, request, inFlight, seconds: duration }
  const results = await Promise.all(loads.map((load) => load.ask<LoadResult>(task)))
  return results.reduce((sum, { responseCount, seconds }) => sum + responseCount / seconds, 0)
}
