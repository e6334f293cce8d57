import type { Readable } from 'node:stream'
import { BlobError } from './blob-error.ts'

export type Batch = { chunks: Buffer[]; bytes: number }

/** Two batches are in memory at a time: one is written while the next one is gathered. */
const batchBytes = 512 * 1024
/** A client can send chunks of one byte, and each takes about 200 bytes of memory. */
const batchChunks = 256

/**
 * Gathers the chunks of a stream into batches. A socket delivers chunks of at most 64 KiB, and
 * writing each of them separately would take most of the time. If the stream fails or the signal
 * aborts, yields what arrived before, and then throws `interrupted`. Neither ends nor destroys the
 * stream.
 */
export async function* gatherBatches(body: Readable, signal?: AbortSignal): AsyncGenerator<Batch, void> {
  const gathered = startGathering(body, signal)
  try {
    for (;;) {
      await gathered.wait()
      const batch = gathered.take()
      if (batch.bytes > 0) yield batch
      else if (gathered.failure) throw gathered.failure
      else if (gathered.isEnded()) return
    }
  } finally {
    gathered.stop()
  }
}

function startGathering(body: Readable, signal: AbortSignal | undefined) {
  let batch: Batch = { chunks: [], bytes: 0 }
  let failure: BlobError | undefined
  let ended = body.readableEnded
  let wake: (() => void) | undefined
  const isFull = () => batch.bytes >= batchBytes || batch.chunks.length >= batchChunks
  const settle = () => {
    wake?.()
    wake = undefined
  }
  const fail = (cause: unknown) => {
    if (ended) return
    failure ??= new BlobError('interrupted', 'the content did not arrive completely', cause)
    body.pause()
    settle()
  }
  const onData = (chunk: Buffer) => {
    batch.chunks.push(chunk)
    batch.bytes += chunk.length
    if (!isFull()) return
    body.pause()
    settle()
  }
  const onEnd = () => {
    ended = true
    settle()
  }
  const onClose = () => fail(body.errored ?? new Error('the connection was closed'))
  const onAbort = () => fail(signal?.reason)
  body.on('data', onData).on('end', onEnd).on('close', onClose).on('error', fail)
  signal?.addEventListener('abort', onAbort)
  if (signal?.aborted) onAbort()
  else if (body.destroyed) onClose()
  return {
    get failure() {
      return failure
    },
    isEnded: () => ended,
    /** Resolves when a batch is full, or when no more bytes will arrive. */
    wait(): Promise<void> | undefined {
      if (ended || failure || isFull()) return undefined
      return new Promise((resolve) => {
        wake = resolve
        body.resume()
      })
    },
    take(): Batch {
      const taken = batch
      batch = { chunks: [], bytes: 0 }
      return taken
    },
    stop(): void {
      signal?.removeEventListener('abort', onAbort)
      // The listener for errors stays: without one, a late error of the stream would end the process.
      body.off('data', onData).off('end', onEnd).off('close', onClose).pause()
    },
  }
}
