// What a call walks through that is answered by documents, one after the other. It is reported when it has ended,
// with how it ended.

import type { StatusError } from '../aip/errors.ts'
import { deadlineExceeded, tooManyRequests } from '../aip/errors.ts'
import type { Authenticate } from '../auth/tokens/authenticate.ts'
import type { Caller } from '../wire/caller.ts'
import type { StreamCorridor } from '../wire/envelope.ts'
import type { Call, Endpoint, StreamHandler } from './call.ts'
import { callOf, nobody, renderFor } from './corridor.ts'
import { inTime } from './deadline.ts'
import type { Report } from './report.ts'
import { asStatusError } from './report.ts'

/** Each keeps a page of rows while its client reads, so nobody has many at a time. */
const mostOfACaller = 10

/** How long the next document may be waited for, in milliseconds. */
const longestWait = 60_000

export function openStreamCorridor(authenticate: Authenticate, report: Report): StreamCorridor<Endpoint> {
  const running = new Map<string, number>()

  /** Counts one more of a caller, and answers with what takes it off again. */
  function count({ identity }: Caller): () => void {
    const before = running.get(identity) ?? 0
    if (before >= mostOfACaller)
      throw tooManyRequests(`at most ${mostOfACaller} streams at a time; let one of yours end first`)
    running.set(identity, before + 1)
    return () => {
      const left = (running.get(identity) ?? 1) - 1
      if (left === 0) running.delete(identity)
      else running.set(identity, left)
    }
  }

  return async function* (endpoint, envelope, readRequest) {
    const started = performance.now()
    const deadline = Date.now() + envelope.timeout
    let caller: Caller | undefined
    let error: StatusError | undefined
    let discount = () => {}
    try {
      const isOpen = endpoint.method.access?.open ?? false
      caller = isOpen ? nobody : await authenticate(envelope.authorization)
      const call = callOf(endpoint.method, await readRequest(), caller, deadline, envelope)
      if (isOpen && call.demand.fault) throw call.demand.fault
      discount = count(caller)
      // Doors send only methods here whose answer is a stream.
      const stream = (endpoint.handler as StreamHandler)(call as Call<never>)[Symbol.asyncIterator]()
      for (;;) {
        const next = await inTime(stream.next(), Math.min(deadline, Date.now() + longestWait))
        if (next.done) return
        // What is there at once counts as in time, however late it was asked for.
        if (Date.now() >= deadline) throw deadlineExceeded()
        yield renderFor(next.value, envelope.door)
      }
    } catch (thrown) {
      error = asStatusError(thrown)
      throw error
    } finally {
      discount()
      report(endpoint.method, envelope, caller, performance.now() - started, error)
    }
  }
}
