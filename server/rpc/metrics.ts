// How many calls there were, how they ended and how long they took. Counted by hand, because the library's
// bookkeeping would be a tenth of a call; it writes the figures when they are asked for.
import type { Metric } from 'prom-client'
import { Registry } from 'prom-client'

type Labels = { method: string; door: string }

/** The calls of one method through one door. */
export type Series = {
  labels: Labels
  byCode: Map<string, number>
  /** One for each bound, and one for what is above them all. */
  byTime: number[]
  seconds: number
}

const timeName = 'stemma_call_seconds'
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export const makeSeries = (labels: Labels): Series => ({
  labels,
  byCode: new Map(),
  byTime: [...bounds, Number.POSITIVE_INFINITY].map(() => 0),
  seconds: 0,
})

export function observe(series: Series, code: string, seconds: number): void {
  series.byCode.set(code, (series.byCode.get(code) ?? 0) + 1)
  let at = 0
  while (seconds > (bounds[at] ?? Number.POSITIVE_INFINITY)) at++
  series.byTime[at] = (series.byTime[at] ?? 0) + 1
  series.seconds += seconds
}

/** Writes whatever series there are at the moment it is asked. */
export function openRegistry(all: readonly Series[]): Registry {
  const registry = new Registry()
  const register = (name: string, type: string, help: string, valuesOf: (series: Series) => object[]) => {
    const get = async () => ({ name, type, help, values: all.flatMap(valuesOf) })
    // All that a registry asks of a metric.
    registry.registerMetric({ name, get } as unknown as Metric)
  }
  register('stemma_calls_total', 'counter', 'Calls by method, door and resulting code', countsOf)
  register(timeName, 'histogram', 'How long calls took', timesOf)
  return registry
}

const countsOf = ({ labels, byCode }: Series) =>
  [...byCode].map(([code, value]) => ({ labels: { ...labels, code }, value }))

function timesOf({ labels, byTime, seconds }: Series) {
  let count = 0
  const buckets = byTime.map((value, at) => {
    count += value
    return { metricName: `${timeName}_bucket`, labels: { le: bounds[at] ?? '+Inf', ...labels }, value: count }
  })
  return [
    ...buckets,
    { metricName: `${timeName}_sum`, labels, value: seconds },
    { metricName: `${timeName}_count`, labels, value: count },
  ]
}
