// Starts the workers of a server, replaces those that end, and stops all of them.
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Log } from '../log.ts'
import { collectSeries } from './collect-series.ts'
import type { FromWorker, Started, ToWorker } from './worker-messages.ts'
import { openWriterConnections } from './writer.ts'

export type SupervisorOptions = {
  count: number
  /** Whether one worker performs all writes. */
  hasWriter: boolean
  /** `port` is the one on which the first worker listens; undefined until it does. */
  startThread(index: number, port: number | undefined): Worker
  log: Log
  /** How long workers that are stopping go on serving, so that load balancers notice it, in milliseconds. */
  drainDelayMs: number
  /** How long to wait before a worker is replaced, in milliseconds. */
  restartDelayMs?: number
}

export type Supervisor = Started & {
  /** Unless `isUrgent`, the workers first go on serving for `drainDelayMs`. */
  stop(isUrgent?: boolean): Promise<void>
}

/** Rejects if a worker cannot be started. */
export async function startWorkers(options: SupervisorOptions): Promise<Supervisor> {
  const { count, hasWriter, log, drainDelayMs, restartDelayMs = 1000 } = options
  const running = new Set<Worker>()
  const ready = new Set<Worker>()
  const writerConnections = hasWriter ? openWriterConnections() : undefined
  let port: number | undefined
  let lastSeriesId = 0
  let isStopping = false

  /** Resolves when the worker is ready, and rejects if it ends before. */
  function start(index: number): Promise<Started> {
    const worker = options.startThread(index, port)
    running.add(worker)
    const started = new Promise<Started>((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'read-series') void answerSeries(worker, message.id)
        if (message.kind !== 'ready') return
        ready.add(worker)
        writerConnections?.add(worker)
        resolve(message)
      })
      worker.on('error', (err) => {
        log.error({ err, worker: index }, 'a worker has failed')
        reject(err)
      })
      worker.on('exit', () => reject(new Error(`worker ${index} ended before it was ready`)))
    })
    worker.on('exit', () => {
      running.delete(worker)
      if (!ready.delete(worker)) return
      writerConnections?.remove(worker)
      replace(index)
    })
    return started
  }

  /** Tries again until the new worker is ready. */
  function replace(index: number): void {
    if (isStopping) return
    log.warn({ worker: index }, 'a worker has ended and is being replaced')
    setTimeout(() => {
      if (!isStopping) start(index).catch(() => replace(index))
    }, restartDelayMs)
  }

  async function answerSeries(asker: Worker, id: number): Promise<void> {
    const series = await collectSeries(ready, ++lastSeriesId)
    asker.postMessage({ kind: 'all-series', id, series } satisfies ToWorker)
  }

  async function stop(isUrgent = false): Promise<void> {
    isStopping = true
    if (!isUrgent) await drain()
    const writer = writerConnections?.writer()
    const others = [...running].filter((worker) => worker !== writer)
    await Promise.all(others.map(stopWorker))
    // Last, because the others hand their writes to it.
    if (writer) await stopWorker(writer)
  }

  /** All workers drain at the same time, so that each of them tells load balancers the same. */
  async function drain(): Promise<void> {
    for (const worker of ready) worker.postMessage({ kind: 'start-draining' } satisfies ToWorker)
    await pause(drainDelayMs)
  }

  /** Resolves when the worker has ended, even if it fails. */
  async function stopWorker(worker: Worker): Promise<void> {
    if (!running.has(worker)) return
    // Not `once` of node:events, which rejects if the worker emits `error` before `exit`.
    const exit = new Promise((resolve) => worker.once('exit', resolve))
    if (ready.has(worker)) worker.postMessage({ kind: 'stop' } satisfies ToWorker)
    else void worker.terminate()
    await exit
  }

  try {
    const first = await start(0)
    port = first.port
    await Promise.all(Array.from({ length: count - 1 }, (_, at) => start(at + 1)))
    return { ...first, stop }
  } catch (error) {
    await stop(true)
    throw error
  }
}
