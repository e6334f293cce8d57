// The cost of a page of 50 with its exact total, as the organization grows from 1k groups (the
// baseline) to 100k and 1M. Measured in this process, from the corridor to the JSON, so that the
// fixed cost of HTTP does not hide growth; pages-over-http.ts adds measurements that include HTTP.

import { median, ratioOf } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import type { HugeStore } from '../stores/huge.ts'
import { hugeStore } from '../stores/huge.ts'
import type { Lister, ListRequest } from '../stores/lister.ts'
import { openLister } from '../stores/lister.ts'
import { pagesOverHttp } from './pages-over-http.ts'

const sizes = [1000, 100_000, 1_000_000]
const orders = ['uid', 'name', 'create_time']
const rounds = 15
const minCallsPerRound = 20
const spreadPageCount = 50

type ListedStore = HugeStore & Lister & { count: number }
/**
 * `maxRatio` is the goal. `requests` returns requests that differ between the stores only in uids and page tokens.
 */
type Case = { label: string; maxRatio?: number; requests(store: ListedStore): Promise<ListRequest[]> }

export async function benchPages(): Promise<Line[]> {
  const stores: ListedStore[] = []
  for (const count of sizes) {
    const huge = await hugeStore(count)
    stores.push({ count, ...huge, ...(await openLister(huge)) })
  }
  const lines: Line[] = []
  for (const pageCase of cases()) lines.push(await measureCase(pageCase, stores))
  for (const { close } of stores) await close()
  return [...lines, ...(await pagesOverHttp(stores))]
}

function* cases(): Generator<Case> {
  for (const orderBy of orders) {
    const wholeList = (): ListRequest => ({ orderBy })
    const inTeam = ({ team }: ListedStore): ListRequest => ({ orderBy, uidp: { descendantsOf: team } })
    const maxTeamRatio = orderBy === 'name' ? 5 : 1.5
    yield { label: `First page, by ${orderBy}`, maxRatio: 1.5, requests: async () => [wholeList()] }
    yield {
      label: `Page in the middle, by ${orderBy}`,
      maxRatio: 1.5,
      requests: async (store) => [await secondPageAfter(store, wholeList(), store.count / 2)],
    }
    yield {
      label: `First page in a small group, by ${orderBy}`,
      maxRatio: maxTeamRatio,
      requests: async (store) => [inTeam(store)],
    }
    yield {
      label: `Second page in a small group, by ${orderBy}`,
      maxRatio: maxTeamRatio,
      requests: async (store) => [await secondPageAfter(store, inTeam(store), 0)],
    }
    yield {
      label: `${spreadPageCount} different pages, spread over the list, by ${orderBy}`,
      requests: (store) =>
        Promise.all(spreadSkips(store).map((skip) => secondPageAfter(store, wholeList(), skip))),
    }
  }
}

/** Numbers of rows to skip, spread evenly over the list. At least 100 rows remain, so that there is a second page. */
const spreadSkips = ({ count }: ListedStore) =>
  Array.from({ length: spreadPageCount }, (_, at) => (at * (count - 100)) / spreadPageCount)

/** The request for the second page of a list that starts after `skip` rows. */
async function secondPageAfter(
  { list }: ListedStore,
  request: ListRequest,
  skip: number,
): Promise<ListRequest> {
  const { nextPageToken } = JSON.parse(await list({ ...request, skip: Math.floor(skip) }))
  if (typeof nextPageToken !== 'string') throw new Error('the page has no next page')
  return { ...request, pageToken: nextPageToken }
}

async function measureCase(
  { label, maxRatio, requests }: Case,
  stores: readonly ListedStore[],
): Promise<Line> {
  const runs = await Promise.all(
    stores.map(async (store) => ({ list: store.list, requests: await requests(store) })),
  )
  const times = stores.map((): number[] => [])
  for (let round = -2; round < rounds; round++) {
    for (const [at, run] of runs.entries()) {
      const time = await timeOf(run.list, run.requests)
      if (round >= 0) times[at]?.push(time) // the first two rounds fill caches
    }
  }
  const [smallest = [], ...others] = times
  const ratio = Math.max(...others.map((larger) => ratioOf(larger, smallest)))
  return {
    label,
    measured: others.map((larger) => `${median(larger).toFixed(0)} µs`).join(', '),
    baseline: `${median(smallest).toFixed(0)} µs`,
    ratio: ratio.toFixed(2),
    goal: maxRatio === undefined ? '' : `${maxRatio}`,
    isMet: maxRatio === undefined ? undefined : ratio <= maxRatio,
  }
}

/** The median time of a call in microseconds. */
async function timeOf(list: Lister['list'], requests: readonly ListRequest[]): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < Math.max(minCallsPerRound, requests.length); at++) {
    const started = performance.now()
    await list(requests[at % requests.length] ?? {})
    times.push((performance.now() - started) * 1000)
  }
  return median(times)
}
