// Reads a resumable stream for as long as the user wants: calls again where the last stream ended.
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { Code, StemmaError } from '@stemma/api'

export type Follow = {
  method: DescMethod
  request: JsonObject
  /** The request that continues after a response. */
  resume(request: JsonObject, response: JsonObject): JsonObject
  /** Reports that the stream has ended, and waits. */
  pause(delayMs: number): Promise<void>
}

export const firstDelayMs = 1000
export const nextDelayMs = (delayMs: number): number => Math.min(2 * delayMs, 30_000)

/**
 * Throws transient errors too until a first response has arrived, because the client has already
 * retried the call. Waits even after a stream that ended without an error: a proxy or a stopping
 * server may end each new stream at once.
 */
export async function* follow(connection: Connection, options: Follow): AsyncGenerator<JsonObject, void> {
  let { request } = options
  let delayMs = firstDelayMs
  let hasArrived = false
  for (;;) {
    try {
      for await (const response of connection.stream(options.method, request)) {
        yield response
        hasArrived = true
        request = options.resume(request, response)
        delayMs = firstDelayMs
      }
    } catch (error) {
      if (!hasArrived || !isTransient(error)) throw error
    }
    await options.pause(delayMs)
    delayMs = nextDelayMs(delayMs)
  }
}

/** Errors of the network, and of a server that restarts or is busy. A line that was cut off is `DATA_LOSS`. */
const transientCodes: Code[] = [
  Code.UNAVAILABLE,
  Code.DEADLINE_EXCEEDED,
  Code.DATA_LOSS,
  Code.RESOURCE_EXHAUSTED,
]

export const isTransient = (error: unknown): boolean =>
  error instanceof StemmaError && transientCodes.includes(error.code)
