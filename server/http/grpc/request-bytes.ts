// Counts the bytes of the requests that grpc-js keeps in memory, for each connection and in total.
import type { LimitedStream } from './limited-stream.ts'

export const maxMessageBytes = 4 * 1024 * 1024
const maxConnectionBytes = { anonymous: 4 * 1024 * 1024, trusted: 16 * 1024 * 1024 }
const maxTotalBytes = { anonymous: 32 * 1024 * 1024, trusted: 64 * 1024 * 1024 }
/** A message compressed with deflate can be this many times as large when it is decompressed. */
const maxInflation = 1032

export type RequestBytes = {
  /** Counts the bytes and messages of a request that have arrived. Returns which limit is exceeded, if any. */
  reserve(stream: LimitedStream, messages: number): 'connection' | 'total' | undefined
  release(stream: LimitedStream): void
}

export function openRequestBytes(): RequestBytes {
  const totals = { anonymous: 0, trusted: 0 }

  function add({ request: { kind }, usage }: LimitedStream, bytes: number): void {
    usage.requestBytes[kind] += bytes
    totals[kind] += bytes
  }

  return {
    reserve(stream, messages) {
      const { request, usage } = stream
      const { kind, bytes, isCompressed } = request
      const size = isCompressed ? Math.min(bytes * maxInflation, messages * maxMessageBytes) : bytes
      add(stream, size - request.reserved)
      request.reserved = size
      if (usage.requestBytes[kind] > maxConnectionBytes[kind]) return 'connection'
      return totals[kind] > maxTotalBytes[kind] ? 'total' : undefined
    },
    release(stream) {
      const { request } = stream as Partial<LimitedStream>
      // A stream that was refused before `limitStream` was called has no request.
      if (!request || request.reserved === 0) return
      add(stream, -request.reserved)
      request.reserved = 0
    },
  }
}
