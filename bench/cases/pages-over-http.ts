// The same pages as clients get them, told beside what they cost in process: here the fixed cost of a request
// is part of the figure.

import { mintToken } from '../../server/auth/tokens.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { measure } from '../load/load.ts'
import type { Process, Server } from '../load/processes.ts'
import { findFreePort, startProcess, startStemmad } from '../load/processes.ts'
import { median, ratioOf } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import type { Huge } from '../stores/huge.ts'
import { requestOf } from './rest-ratio.ts'

const rounds = 5
const seconds = 0.3
const warmSeconds = 2

type Place = Huge & { server: Server; authorization: string }

export async function pagesOverHttp(stores: readonly Huge[]): Promise<Line[]> {
  const load = startProcess('load', 'bench/load/http-load.ts')
  const places: Place[] = []
  try {
    for (const huge of stores) places.push(await serve(huge))
    const whole = () => '?order_by=name'
    const team = ({ team }: Place) => `?order_by=name&uidp.descendants_of=${team}`
    return [
      await compare('First page, by name, over HTTP', load, places, whole),
      await compare('First page in a small group, by name, over HTTP', load, places, team),
    ]
  } finally {
    await Promise.all([load, ...places.map(({ server }) => server)].map((process) => process.stop()))
  }
}

async function serve(huge: Huge): Promise<Place> {
  const { config } = readConfig({}, huge.settings)
  const store = openStore(config)
  const { keys } = await prepareStore(config, store)
  const parties = { issuer: config.authUrl, audience: config.baseUrl }
  const token = await mintToken(keys, parties, huge.identity, Date.now())
  await store.close()
  const port = await findFreePort()
  const server = await startStemmad([...huge.settings, '--port', String(port)], port)
  return { ...huge, server, authorization: `Bearer ${token}` }
}

async function compare(
  what: string,
  load: Process,
  places: readonly Place[],
  query: (place: Place) => string,
): Promise<Line> {
  const cost = async (place: Place, time: number) => {
    const request = requestOf(`/iam/v2beta1/groups${query(place)}`, place.authorization)
    const { perCpu } = await measure(load, place.server, { request, inFlight: 1, seconds: time })
    return 1e6 / perCpu
  }
  for (const place of places) await cost(place, warmSeconds)
  const taken = places.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, place] of places.entries()) taken[at]?.push(await cost(place, seconds))
  }
  const [least = [], ...others] = taken
  return {
    what,
    measured: others.map((costs) => `${median(costs).toFixed(0)} µs`).join(', '),
    bound: `${median(least).toFixed(0)} µs`,
    ratio: Math.max(...others.map((costs) => ratioOf(costs, least))).toFixed(2),
    ...{ toReach: '', isReached: undefined },
  }
}
