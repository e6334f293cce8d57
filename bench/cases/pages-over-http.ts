// Measures first pages, as pages.ts does, but over HTTP. The results have no goal, because they include the fixed cost
// of a request.

import { randomBytes } from 'node:crypto'
import { freePort } from '../../api/testing/free-port.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { measure } from '../load/load.ts'
import type { Process, Server } from '../load/processes.ts'
import { startProcess, startStemmad } from '../load/processes.ts'
import { median, ratioOf } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import type { HugeStore } from '../stores/huge.ts'
import { requestOf } from './rest-ratio.ts'

const rounds = 5
const seconds = 0.3
const warmSeconds = 2

type ServedStore = HugeStore & { server: Server; authorization: string }

export async function pagesOverHttp(stores: readonly HugeStore[]): Promise<Line[]> {
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  const served: ServedStore[] = []
  try {
    for (const huge of stores) served.push(await serve(huge))
    const wholeList = () => '?order_by=name'
    const inTeam = ({ team }: ServedStore) => `?order_by=name&uidp.descendants_of=${team}`
    return [
      await compare('First page, by name, over HTTP', load, served, wholeList),
      await compare('First page in a small group, by name, over HTTP', load, served, inTeam),
    ]
  } finally {
    await Promise.all([load, ...served.map(({ server }) => server)].map((process) => process.stop()))
  }
}

async function serve(huge: HugeStore): Promise<ServedStore> {
  const { config } = readConfig({}, huge.settings)
  const store = openStore(config)
  const { keys } = await prepareStore(config, store)
  const signer = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
  const token = await mintToken(signer, { identity: huge.identity, audience: config.baseUrl })
  await store.close()
  const port = await freePort()
  const server = await startStemmad([...huge.settings, '--port', String(port)], port)
  return { ...huge, server, authorization: `Bearer ${token}` }
}

async function compare(
  label: string,
  load: Process,
  stores: readonly ServedStore[],
  query: (served: ServedStore) => string,
): Promise<Line> {
  const microsecondsPerCall = async (served: ServedStore, loadSeconds: number) => {
    const request = requestOf(`/iam/v2beta1/groups${query(served)}`, served.authorization)
    const { perCpu } = await measure(load, served.server, { request, inFlight: 1, seconds: loadSeconds })
    return 1e6 / perCpu
  }
  for (const served of stores) await microsecondsPerCall(served, warmSeconds)
  const costs = stores.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, served] of stores.entries()) costs[at]?.push(await microsecondsPerCall(served, seconds))
  }
  const [smallest = [], ...others] = costs
  return {
    label,
    measured: others.map((larger) => `${median(larger).toFixed(0)} µs`).join(', '),
    baseline: `${median(smallest).toFixed(0)} µs`,
    ratio: Math.max(...others.map((larger) => ratioOf(larger, smallest))).toFixed(2),
    ...{ goal: '', isMet: undefined },
  }
}
