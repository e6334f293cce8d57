// The cost of rate limits and of the limit on running calls, as a share of whole calls. They are measured alone, because
// two equal servers differ by more than the limits cost.
import { randomBytes } from 'node:crypto'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { readConfig } from '../../server/config/config.ts'
import { openCallLimits } from '../../server/limits/rate/call-limits.ts'
import { measure } from '../load/load.ts'
import { highRates, startProcess } from '../load/processes.ts'
import { median } from '../load/rounds.ts'
import { rounds, seconds, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { createRequestOf } from './creates.ts'
import { requestOf } from './rest-ratio.ts'

/** Calls may be 3 % slower than without limits. */
const minRatio = 0.97
const inFlight = 32
const callerCount = 1000
const callsPerRound = 200_000

const { getGroup, listGroups, createGroup } = GroupsService.method
const cases: [
  label: string,
  method: typeof getGroup | typeof listGroups | typeof createGroup,
  request: (bench: BenchServer) => string,
][] = [
  [
    'Get group',
    getGroup,
    ({ group, authorization }) => requestOf(`/iam/v2beta1/groups/${group}`, authorization),
  ],
  [
    'List of 50 groups',
    listGroups,
    ({ organization, authorization }) =>
      requestOf(`/iam/v2beta1/groups?uidp.descendants_of=${organization}`, authorization),
  ],
  ['Create group', createGroup, createRequestOf],
]

export async function benchLimits(): Promise<Line[]> {
  await using bench = await startBenchServer(200)
  await using load = startProcess('load-core', 'bench/load/http-load.ts')
  const lines: Line[] = []
  for (const [label, method, requestFor] of cases) {
    const sample = (duration: number) =>
      measure(load, bench.server, { request: requestFor(bench), inFlight, seconds: duration })
    await sample(warmSeconds)
    const limits = costOfLimits(describeMethod(method))
    limits() // warm-up
    const calls: number[] = []
    const costs: number[] = []
    for (let round = 0; round < rounds; round++) {
      calls.push(1e6 / (await sample(seconds)).perCpu)
      costs.push(limits())
    }
    lines.push(lineOf(label, median(calls), median(costs)))
  }
  return lines
}

/** Returns a function that measures the CPU time of the limits of a call, in microseconds. */
function costOfLimits(method: ReturnType<typeof describeMethod>): () => number {
  const { config } = readConfig({}, highRates)
  const { calls } = openCallLimits({
    ...{ rates: config.rates, maxRunning: config.maxCallsPerCaller, isProxy: () => false },
    clock: () => performance.now(),
  })
  const callers = Array.from({ length: callerCount }, (_, at) => ({
    identity: newChildUid(randomBytes(20).toString('hex'), Date.now(), randomBytes),
    address: `10.0.${at >> 8}.${at % 256}`,
  }))
  const call = ({ identity, address }: (typeof callers)[number], now: number) => {
    const costClass = calls.classOf(method)
    const network = calls.arrive(costClass, address, now)
    const caller = calls.enter(costClass, identity, network, now)
    calls.fieldsOf(costClass, caller, network, now)
    calls.leave(caller)
  }
  return () => {
    const before = process.cpuUsage()
    for (let at = 0; at < callsPerRound / callerCount; at++)
      for (const caller of callers) call(caller, performance.now())
    const { user, system } = process.cpuUsage(before)
    return (user + system) / callsPerRound
  }
}

function lineOf(label: string, call: number, limits: number): Line {
  const ratio = (call - limits) / call
  return {
    label: `${label}, without limits against with limits`,
    measured: `${(call - limits).toFixed(1)} µs of CPU`,
    baseline: `${call.toFixed(1)} µs of CPU`,
    ...{ ratio: ratio.toFixed(3), goal: minRatio.toFixed(2), isMet: ratio >= minRatio },
  }
}
