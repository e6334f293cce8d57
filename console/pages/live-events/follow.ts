// Follows the events of a group. A stream that ends or breaks is continued after the last event, without a gap.

import { Code, StemmaError, type StreamCall } from '@stemma/api/json'
import type {
  TailEventsRequestJson,
  TailEventsResponseJson,
} from '@stemma/api/json/platform/events/v2beta1/event'

export type Listener = {
  /** Called with the number up to which all events were seen. */
  onSequence(sequence: string): void
  onEvent(event: Record<string, unknown>, sequence: string): void
  /** Called with undefined for each response of the stream, and with the error when it fails. */
  onState(error: unknown): void
}

/** The wait before the next attempt if the stream has ended without an error. Each failure in a row doubles it. */
const firstWaitMs = 500
const longestWaitMs = 30_000

/** Errors after which no other attempt is made, because it would fail too. */
const finalCodes = new Set<Code>([Code.PERMISSION_DENIED, Code.NOT_FOUND, Code.INVALID_ARGUMENT])

/** Runs until `signal` is aborted or the server refuses. */
export async function followEvents(
  tail: StreamCall<TailEventsRequestJson, TailEventsResponseJson>,
  { group, after }: { group: string; after: string | undefined },
  listener: Listener,
  signal: AbortSignal,
): Promise<void> {
  let last = after
  let waitMs = firstWaitMs
  while (!signal.aborted) {
    try {
      const request = { group, follow: true, ...(last !== undefined && { afterSequence: last }) }
      for await (const { event, sequence } of tail(request, { signal })) {
        waitMs = firstWaitMs
        last = sequence ?? last
        if (last !== undefined) listener.onSequence(last)
        listener.onState(undefined)
        if (event) listener.onEvent(event, sequence ?? '')
      }
    } catch (error) {
      if (signal.aborted) break
      listener.onState(error)
      if (error instanceof StemmaError && finalCodes.has(error.code)) break
      waitMs = Math.min(2 * waitMs, longestWaitMs)
    }
    await pause(waitMs, signal)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
