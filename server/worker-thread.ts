// The program of a worker, one of several threads that serve the same port (workers/supervisor.ts).
import type { MessagePort } from 'node:worker_threads'
import { parentPort, workerData } from 'node:worker_threads'
import { startApp } from './app.ts'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import { openLog } from './log.ts'
import type { Series } from './rpc/metrics.ts'
import { mergeSeries } from './rpc/metrics.ts'
import type { WorkerRole } from './worker-role.ts'
import { laneOf } from './worker-role.ts'
import type { CallClient } from './workers/call-client.ts'
import { openCallClient } from './workers/call-client.ts'
import { serveCalls } from './workers/call-server.ts'
import type { SharedState } from './workers/shared-state.ts'
import type { FromWorker, ToWorker } from './workers/worker-messages.ts'
import { isWrite } from './workers/write-methods.ts'

export type WorkerData = { config: Config; shared: SharedState; isFirst: boolean }

const parent = parentPort
if (!parent) throw new Error('worker-thread.ts runs only as a thread')

const { config, shared, isFirst } = workerData as WorkerData // set by start-workers.ts
const log = openLog(config.logLevel, { outputLock: shared.outputLock })
const post = (message: FromWorker) => parent.postMessage(message)

const lane = laneOf(config, shared)
const awaitedSeries = new Map<number, (series: Series[]) => void>()
let lastSeriesId = 0
let writer: CallClient | undefined
let core: Core | undefined

const role: WorkerRole = {
  ...{ shared, isFirst, sharesPort: true },
  forMethod: (method) => (writer && isWrite(method) ? writer.call : undefined),
  lane,
  onOpen(opened) {
    core = opened
  },
  readSeries: () =>
    new Promise((resolve) => {
      const id = ++lastSeriesId
      awaitedSeries.set(id, (series) => resolve(mergeSeries(series)))
      post({ kind: 'read-series', id })
    }),
  close: lane.close,
}

const app = await startApp(config, log, {}, role)
parent.on('message', onMessage)
const { port, metricsPort, setUpLink } = app
post({ kind: 'ready', port, metricsPort, setUpLink })

function onMessage(message: ToWorker): void {
  switch (message.kind) {
    case 'writer':
      writer = message.port && connectWriter(message.port)
      break
    case 'serve':
      if (core) serveCalls(message.port, core)
      break
    case 'send-series':
      post({ kind: 'series', id: message.id, series: core?.series ?? [] })
      break
    case 'all-series':
      awaitedSeries.get(message.id)?.(message.series)
      awaitedSeries.delete(message.id)
      break
    case 'start-draining':
      app.startDraining()
      break
    case 'stop':
      void stop()
  }
}

function connectWriter(port: MessagePort): CallClient {
  const client = openCallClient(port)
  // Until there is another writer, this worker performs its own writes.
  port.on('close', () => {
    client.close()
    if (writer === client) writer = undefined
  })
  return client
}

async function stop(): Promise<void> {
  // The supervisor has waited for load balancers already.
  await app.stop(true)
  log.flush()
  process.exit()
}
