// What a page of 50 with its exact total costs as the organization grows from 1k groups (the bound) to 100k
// and 1M. Timed in this process, from the corridor to the JSON, so that no fixed cost of HTTP hides the growth.

import { median, ratioOf } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import type { Huge } from '../stores/huge.ts'
import { hugeStore } from '../stores/huge.ts'
import type { Lister, ListRequest } from '../stores/lister.ts'
import { openLister } from '../stores/lister.ts'
import { pagesOverHttp } from './pages-over-http.ts'

const sizes = [1000, 100_000, 1_000_000]
const orders = ['uid', 'name', 'create_time']
const rounds = 15
const calls = 20
const spread = 50

type Place = Huge & Lister & { count: number }
/** The requests of a case, which differ from one organization to the other in nothing but uids and tokens. */
type Case = { what: string; toReach?: number; requests(place: Place): Promise<ListRequest[]> }

export async function benchPages(): Promise<Line[]> {
  const places: Place[] = []
  for (const count of sizes) {
    const huge = await hugeStore(count)
    places.push({ count, ...huge, ...(await openLister(huge)) })
  }
  const lines: Line[] = []
  for (const one of cases()) lines.push(await measureCase(one, places))
  for (const { close } of places) await close()
  return [...lines, ...(await pagesOverHttp(places))]
}

function* cases(): Generator<Case> {
  for (const orderBy of orders) {
    const whole = (): ListRequest => ({ orderBy })
    const team = ({ team }: Place): ListRequest => ({ orderBy, uidp: { descendantsOf: team } })
    const teamReach = orderBy === 'name' ? 5 : 1.5
    yield { what: `First page, by ${orderBy}`, toReach: 1.5, requests: async () => [whole()] }
    yield {
      what: `Page in the middle, by ${orderBy}`,
      toReach: 1.5,
      requests: async (place) => [await after(place, whole(), place.count / 2)],
    }
    yield {
      what: `First page in a small group, by ${orderBy}`,
      toReach: teamReach,
      requests: async (place) => [team(place)],
    }
    yield {
      what: `Second page in a small group, by ${orderBy}`,
      toReach: teamReach,
      requests: async (place) => [await after(place, team(place), 0)],
    }
    yield {
      what: `${spread} pages all over, in turn, by ${orderBy}`,
      requests: (place) => Promise.all(positions(place).map((skip) => after(place, whole(), skip))),
    }
  }
}

const positions = ({ count }: Place) =>
  Array.from({ length: spread }, (_, at) => (at * (count - 100)) / spread)

/** The same list, from where the page ends that starts after `skip` rows. */
async function after({ list }: Place, request: ListRequest, skip: number): Promise<ListRequest> {
  const { nextPageToken } = JSON.parse(await list({ ...request, skip: Math.floor(skip) }))
  if (typeof nextPageToken !== 'string') throw new Error('a page that should have a next one has none')
  return { ...request, pageToken: nextPageToken }
}

async function measureCase({ what, toReach, requests }: Case, places: readonly Place[]): Promise<Line> {
  const prepared = await Promise.all(
    places.map(async (place) => ({ ...place, asked: await requests(place) })),
  )
  const times = places.map((): number[] => [])
  for (let round = -2; round < rounds; round++) {
    for (const [at, { list, asked }] of prepared.entries()) {
      const time = await timeOf(list, asked)
      if (round >= 0) times[at]?.push(time) // the first rounds fill caches
    }
  }
  const [least = [], ...others] = times
  const ratio = Math.max(...others.map((some) => ratioOf(some, least)))
  return {
    what,
    measured: others.map((some) => `${median(some).toFixed(0)} µs`).join(', '),
    bound: `${median(least).toFixed(0)} µs`,
    ratio: ratio.toFixed(2),
    toReach: toReach === undefined ? '' : `${toReach}`,
    isReached: toReach === undefined ? undefined : ratio <= toReach,
  }
}

/** Microseconds of a call, the median of some. */
async function timeOf(list: Lister['list'], asked: readonly ListRequest[]): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < Math.max(calls, asked.length); at++) {
    const started = performance.now()
    await list(asked[at % asked.length] ?? {})
    times.push((performance.now() - started) * 1000)
  }
  return median(times)
}
