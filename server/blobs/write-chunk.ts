import type { Writable } from 'node:stream'
import { BlobError } from './blob-error.ts'

/**
 * Writes a chunk and resolves when the destination no longer needs it. Rejects if the destination is closed first. Node
 * does not report this to the callback of `write` if the destination is an HTTP response that waits for an earlier
 * response on the same connection.
 */
export function writeChunk(destination: Writable, chunk: Buffer, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (cause?: unknown, failed = true) => {
      destination.off('close', onClose)
      signal?.removeEventListener('abort', onAbort)
      if (failed) reject(new BlobError('interrupted', 'the content was not sent completely', cause))
      else resolve()
    }
    const onClose = () => settle(destination.errored)
    const onAbort = () => settle(signal?.reason)
    if (signal?.aborted) return onAbort()
    if (destination.destroyed) return onClose()
    destination.on('close', onClose)
    signal?.addEventListener('abort', onAbort)
    destination.write(chunk, (error) => settle(error, error !== null && error !== undefined))
  })
}
