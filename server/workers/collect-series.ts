// Reads the metrics of all workers.
import type { Worker } from 'node:worker_threads'
import type { Series } from '../rpc/metrics.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

/** A worker that is blocked for longer is left out. */
const timeoutMs = 1000

export async function collectSeries(workers: Iterable<Worker>, id: number): Promise<Series[]> {
  const all = await Promise.all([...workers].map((worker) => readSeries(worker, id)))
  return all.flat()
}

/** `id` is unique among the requests for metrics. */
function readSeries(worker: Worker, id: number): Promise<readonly Series[]> {
  return new Promise((resolve) => {
    const finish = (series: readonly Series[]) => {
      clearTimeout(timer)
      worker.off('message', onMessage)
      worker.off('exit', onExit)
      resolve(series)
    }
    const onMessage = (message: FromWorker) => {
      if (message.kind === 'series' && message.id === id) finish(message.series)
    }
    const onExit = () => finish([])
    const timer = setTimeout(onExit, timeoutMs)
    worker.on('message', onMessage)
    worker.on('exit', onExit)
    worker.postMessage({ kind: 'send-series', id } satisfies ToWorker)
  })
}
