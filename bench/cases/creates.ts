// Measures how many resources are created per second, over REST and in the store alone. Concurrent writes share a
// commit. So the rate with 64 creates in flight is compared with the rate of one at a time, with a commit for each row.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import { readConfig } from '../../server/config/config.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { alternate, median, ratioOf } from '../load/rounds.ts'
import { short, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer, temporarySettings } from '../stores/bench-server.ts'

const inFlight = 64
const rounds = 5
const seconds = 1
const minRatio = 3

export async function benchCreates(): Promise<Line[]> {
  const bench = await startBenchServer(200)
  try {
    const { together, alone } = await measureCreateRates(bench)
    return [line('Creates, REST, 64 in flight against 1', together, alone), await benchStore()]
  } finally {
    await bench.end()
  }
}

/** Creates per second in each round, with 64 in flight (`together`) and with one (`alone`). */
export async function measureCreateRates(bench: BenchServer) {
  const { server } = bench
  const request = createRequestOf(bench)
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  const rateWith = async (concurrency: number) =>
    (await measure(load, server, { request, inFlight: concurrency, seconds })).rate
  try {
    await measure(load, server, { request, inFlight, seconds: warmSeconds })
    const samples = await alternate(
      rounds,
      () => rateWith(inFlight),
      () => rateWith(1),
    )
    return { together: samples.ours, alone: samples.baseline }
  } finally {
    await load.stop()
  }
}

/** The request that creates a group. */
export function createRequestOf({ group, authorization }: BenchServer): string {
  const body = JSON.stringify({ name: 'made-by-the-bench', description: 'One of many.' })
  const head = `POST /iam/v2beta1/groups/${group} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${authorization}`
  return `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

async function benchStore(): Promise<Line> {
  const { settings, remove } = await temporarySettings()
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  try {
    await prepareStore(config, store)
    const { organization } = await makeOrganization(
      { store, authUrl: config.authUrl, now: Date.now, random: randomBytes },
      'bench',
    )
    const rateWith = (concurrency: number) => storeRate(store, organization, concurrency)
    await rateWith(inFlight)
    const samples = await alternate(
      rounds,
      () => rateWith(inFlight),
      () => rateWith(1),
    )
    return line('Creates, the store alone, 64 per commit against 1', samples.ours, samples.baseline)
  } finally {
    await store.close()
    await remove()
  }
}

async function storeRate(store: Store, organization: string, concurrency: number): Promise<number> {
  const started = performance.now()
  let created = 0
  while (performance.now() - started < seconds * 1000) {
    await Promise.all(Array.from({ length: concurrency }, () => makeGroup(store, organization)))
    created += concurrency
  }
  return created / ((performance.now() - started) / 1000)
}

function makeGroup(store: Store, organization: string) {
  const draft = create(GroupSchema, { name: 'made-by-the-bench', description: 'One of many.' })
  const now = Date.now()
  return store.write(() =>
    createEntry(operatorAccess, groups, draft, { uid: newChildUid(organization, now, randomBytes), now }),
  )
}

function line(label: string, together: number[], alone: number[]): Line {
  const ratio = ratioOf(together, alone)
  return {
    ...{ label, measured: `${short(median(together))}/s`, baseline: `${short(median(alone))}/s` },
    ...{ ratio: ratio.toFixed(1), goal: `${minRatio}`, isMet: ratio >= minRatio },
  }
}
