// Whether expensive lists of one organization delay the calls of another: the 99th percentile of the duration of a Get
// while 50 lists run in a loop, against the same on an idle server.
import { randomBytes } from 'node:crypto'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import type { Store } from '../../server/store/db.ts'
import type { Latencies } from '../load/latency-load.ts'
import { startProcess } from '../load/processes.ts'
import { median } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { importAdvisories } from './advisories.ts'
import { requestOf } from './rest-ratio.ts'

const advisoryCount = 20_000
const listsInFlight = 50
const rounds = 5
const seconds = 3
const maxRatio = 5

/** Two letters are shorter than a trigram, so this query scans all advisories. */
const expensiveList = '/vulnerabilities/v2beta1/advisories?query=zz'

export async function benchLane(): Promise<Line[]> {
  let busyCaller = ''
  const addBusyOrganization = async (store: Store) => {
    const deps = { store, authUrl: 'http://localhost', now: Date.now, random: randomBytes }
    const { organization, identity } = await makeOrganization(deps, 'busy')
    busyCaller = identity
    await importAdvisories(advisoryCount)(store, organization)
  }
  const bench = await startBenchServer(200, [], addBusyOrganization, 'both-cores')
  const [gets, lists] = [
    startProcess('both-cores', 'bench/load/latency-load.ts'),
    startProcess('both-cores', 'bench/load/http-load.ts'),
  ]
  try {
    const { server, group, authorization } = bench
    const get = requestOf(`/iam/v2beta1/groups/${group}`, authorization)
    const list = requestOf(expensiveList, await bench.authorizationOf(busyCaller))
    const measureGets = () => gets.ask<Latencies>({ port: server.port, request: get, seconds })
    const runLists = (duration: number) =>
      lists.ask({ port: server.port, request: list, inFlight: listsInFlight, seconds: duration })
    await measureGets()
    await runLists(1)
    const [idle, busy]: [Latencies[], Latencies[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      idle.push(await measureGets())
      const listsEnd = runLists(seconds)
      busy.push(await measureGets())
      await listsEnd
    }
    const ratio = median(busy.map(({ p99 }, at) => p99 / (idle[at]?.p99 ?? Number.NaN)))
    const show = (all: Latencies[]) => `${median(all.map(({ p99 }) => p99)).toFixed(2)} ms`
    return [
      {
        label: `p99 of Get beside ${listsInFlight} expensive lists, against an idle server`,
        ...{ measured: show(busy), baseline: show(idle), ratio: ratio.toFixed(2) },
        ...{ goal: `${maxRatio} at most`, isMet: ratio <= maxRatio },
      },
    ]
  } finally {
    await Promise.all([gets.stop(), lists.stop()])
    await bench.end()
  }
}
