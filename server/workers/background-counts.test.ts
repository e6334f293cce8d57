import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { addCounts, makeBackgroundCounts, readCounts, setLastSuccess } from './background-counts.ts'

test('counts of several threads are added without losing any', async () => {
  const counts = makeBackgroundCounts()
  const started = new Int32Array(new SharedArrayBuffer(4))
  const source = `import { workerData } from 'node:worker_threads'
    import { addCounts } from ${JSON.stringify(import.meta.resolve('./background-counts.ts'))}
    const { counts, started } = workerData
    Atomics.add(started, 0, 1)
    while (Atomics.load(started, 0) < 2);
    for (let at = 0; at < 200_000; at++) addCounts(counts, { eventsDropped: 1 })`
  const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
  const workers = [1, 2].map(() => new Worker(url, { workerData: { counts, started } }))
  for (let at = 0; at < 1000; at++) addCounts(counts, { runs: 1, seconds: 0.25 })
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
  setLastSuccess(counts, 1234.5)
  const { eventsDropped, runs, seconds, lastSuccess } = readCounts(counts)
  assert.deepEqual([eventsDropped, runs, seconds, lastSuccess], [400_000, 1000, 250, 1234.5])
})
