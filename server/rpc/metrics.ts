// Counts calls by result and by duration. The counters are our own, because updating those of prom-client took a tenth of
// the time of a call. prom-client only writes the response to /metrics.
import type { Metric, Registry } from 'prom-client'
import type { MaybePromise } from '../wire/maybe-promise.ts'

type Labels = { method: string; door: string }

/** The calls of one method through one door. */
export type Series = {
  labels: Labels
  byCode: Map<string, number>
  /** The number of calls in each bucket of the histogram; the last bucket has no upper bound. */
  byDuration: number[]
  totalSeconds: number
}

const durationName = 'stemma_call_seconds'
/** The upper bounds of the buckets, in seconds. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export const makeSeries = (labels: Labels): Series => ({
  labels,
  byCode: new Map(),
  byDuration: [...bounds, Number.POSITIVE_INFINITY].map(() => 0),
  totalSeconds: 0,
})

export function observe(series: Series, code: string, seconds: number): void {
  series.byCode.set(code, (series.byCode.get(code) ?? 0) + 1)
  let bucket = 0
  while (seconds > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
  series.byDuration[bucket] = (series.byDuration[bucket] ?? 0) + 1
  series.totalSeconds += seconds
}

/** Adds up the calls of the same method and door, which several threads have counted. */
export function mergeSeries(all: readonly Series[]): Series[] {
  const merged = new Map<string, Series>()
  for (const { labels, byCode, byDuration, totalSeconds } of all) {
    const key = `${labels.door} ${labels.method}`
    const sum = merged.get(key) ?? makeSeries(labels)
    for (const [code, count] of byCode) sum.byCode.set(code, (sum.byCode.get(code) ?? 0) + count)
    for (const [bucket, count] of byDuration.entries())
      sum.byDuration[bucket] = (sum.byDuration[bucket] ?? 0) + count
    sum.totalSeconds += totalSeconds
    merged.set(key, sum)
  }
  return [...merged.values()]
}

type ReadSeries = () => MaybePromise<readonly Series[]>

/** A metric with one value and no labels. */
export type ScalarMetric = { name: string; type: 'counter' | 'gauge'; help: string; value: number }

/** Writes metrics in the text format of Prometheus. */
export type MetricsRegistry = { contentType: string; metrics(): Promise<string> }

/**
 * `readSeries` and `readScalars` are called each time metrics are requested. prom-client is loaded
 * by the first request: with the packages it imports, it is 90 modules, which took 25 ms of every
 * start.
 */
export function openMetricsRegistry(
  readSeries: ReadSeries,
  readScalars: () => ScalarMetric[] = () => [],
): MetricsRegistry {
  let registry: Promise<Registry> | undefined
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    async metrics() {
      registry ??= loadRegistry(readSeries, readScalars)
      return (await registry).metrics()
    },
  }
}

async function loadRegistry(readSeries: ReadSeries, readScalars: () => ScalarMetric[]): Promise<Registry> {
  const { Registry } = await import('prom-client')
  const registry = new Registry()
  const registerValues = (name: string, type: string, help: string, read: () => MaybePromise<object[]>) => {
    const get = async () => ({ name, type, help, values: await read() })
    // A registry uses only these properties of a metric.
    registry.registerMetric({ name, get } as unknown as Metric)
  }
  const register = (name: string, type: string, help: string, valuesOf: (series: Series) => object[]) =>
    registerValues(name, type, help, async () => (await readSeries()).flatMap(valuesOf))
  register('stemma_calls_total', 'counter', 'Calls by method, door and resulting code', countsOf)
  register(durationName, 'histogram', 'How long calls took', durationsOf)
  for (const { name, type, help } of readScalars())
    registerValues(name, type, help, () =>
      readScalars().flatMap((metric) => (metric.name === name ? { labels: {}, value: metric.value } : [])),
    )
  return registry
}

const countsOf = ({ labels, byCode }: Series) =>
  [...byCode].map(([code, value]) => ({ labels: { ...labels, code }, value }))

function durationsOf({ labels, byDuration, totalSeconds }: Series) {
  let count = 0
  const buckets = byDuration.map((value, at) => {
    count += value
    return {
      metricName: `${durationName}_bucket`,
      labels: { le: bounds[at] ?? '+Inf', ...labels },
      value: count,
    }
  })
  return [
    ...buckets,
    { metricName: `${durationName}_sum`, labels, value: totalSeconds },
    { metricName: `${durationName}_count`, labels, value: count },
  ]
}
