import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Series } from './metrics.ts'
import { makeSeries, mergeSeries, observe, openMetricsRegistry } from './metrics.ts'

describe('the metrics of calls', () => {
  test('are written in the Prometheus format, with their current values', async () => {
    const allSeries: Series[] = []
    const registry = openMetricsRegistry(() => allSeries)
    const series = makeSeries({ method: 'Groups.Get', door: 'rest' })
    allSeries.push(series)
    observe(series, 'OK', 0.0005)
    observe(series, 'OK', 0.002)
    observe(series, 'NOT_FOUND', 60)
    const text = await registry.metrics()
    const lines = text.split('\n')
    assert.ok(lines.includes('# TYPE stemma_calls_total counter'))
    assert.ok(lines.includes('# TYPE stemma_call_seconds histogram'))
    assert.ok(lines.includes('stemma_calls_total{method="Groups.Get",door="rest",code="OK"} 2'))
    assert.ok(lines.includes('stemma_calls_total{method="Groups.Get",door="rest",code="NOT_FOUND"} 1'))
    const bucket = (le: string) => `stemma_call_seconds_bucket{le="${le}",method="Groups.Get",door="rest"}`
    assert.ok(lines.includes(`${bucket('0.0005')} 1`), text)
    assert.ok(lines.includes(`${bucket('0.0025')} 2`))
    assert.ok(lines.includes(`${bucket('10')} 2`))
    assert.ok(lines.includes(`${bucket('+Inf')} 3`))
    assert.ok(lines.includes('stemma_call_seconds_sum{method="Groups.Get",door="rest"} 60.0025'))
    assert.ok(lines.includes('stemma_call_seconds_count{method="Groups.Get",door="rest"} 3'))
  })
})

describe('the metrics of several threads', () => {
  test('are added up for each method and door', () => {
    const seriesOf = (door: string, code: string, seconds: number) => {
      const series = makeSeries({ method: 'Groups.Get', door })
      observe(series, code, seconds)
      return series
    }
    const merged = mergeSeries([
      ...[seriesOf('rest', 'OK', 0.0005), seriesOf('rest', 'OK', 0.0004), seriesOf('rest', 'NOT_FOUND', 3)],
      seriesOf('grpc', 'OK', 1),
    ])
    assert.deepEqual(
      merged.map(({ labels, byCode }) => [labels.door, Object.fromEntries(byCode)]),
      [
        ['rest', { OK: 2, NOT_FOUND: 1 }],
        ['grpc', { OK: 1 }],
      ],
    )
    const [rest] = merged
    assert.equal(rest?.byDuration[0], 2)
    assert.equal(rest?.totalSeconds, 3.0009)
  })
})
