// Chooses the worker that performs all writes, and connects the others with it.
import type { Worker } from 'node:worker_threads'
import { MessageChannel } from 'node:worker_threads'
import type { ToWorker } from './worker-messages.ts'

export type WriterConnections = {
  writer(): Worker | undefined
  add(worker: Worker): void
  /** If the worker was the writer, another one becomes the writer. */
  remove(worker: Worker): void
}

export function openWriterConnections(): WriterConnections {
  const workers = new Set<Worker>()
  let writer: Worker | undefined

  function connect(worker: Worker): void {
    if (!writer || worker === writer) {
      worker.postMessage({ kind: 'writer', port: undefined } satisfies ToWorker)
      return
    }
    const { port1, port2 } = new MessageChannel()
    writer.postMessage({ kind: 'serve', port: port1 } satisfies ToWorker, [port1])
    worker.postMessage({ kind: 'writer', port: port2 } satisfies ToWorker, [port2])
  }

  return {
    writer: () => writer,
    add(worker) {
      workers.add(worker)
      writer ??= worker
      connect(worker)
    },
    remove(worker) {
      workers.delete(worker)
      if (worker !== writer) return
      ;[writer] = workers
      for (const other of workers) connect(other)
    },
  }
}
