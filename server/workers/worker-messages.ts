// The messages between the main thread, which supervises the workers, and each worker.
import type { MessagePort } from 'node:worker_threads'
import type { Series } from '../rpc/metrics.ts'

export type ToWorker =
  /** Hand writes over to this port; without a port, the worker is the writer. */
  | { kind: 'writer'; port: MessagePort | undefined }
  /** Perform the calls of another worker, which come from this port. */
  | { kind: 'serve'; port: MessagePort }
  /** Asks for the metrics of this worker. The answer is `series`. */
  | { kind: 'send-series'; id: number }
  /** The metrics of all workers, which this worker has asked for. */
  | { kind: 'all-series'; id: number; series: Series[] }
  /** Tell load balancers that the server is stopping, but go on serving. */
  | { kind: 'start-draining' }
  /** Wait for running calls, then end. */
  | { kind: 'stop' }

export type FromWorker =
  | ({ kind: 'ready' } & Started)
  | { kind: 'series'; id: number; series: readonly Series[] }
  /** Asks the main thread for the metrics of all workers. The answer is `all-series`. */
  | { kind: 'read-series'; id: number }

export type Started = {
  port: number
  metricsPort: number | undefined
  setUpLink: string | undefined
}
