// What a call walks through that is answered by documents, one after the other. It is reported when it has ended,
// with how it ended.
import type { Caller } from '../aip/caller.ts'
import type { StatusError } from '../aip/errors.ts'
import { deadlineExceeded } from '../aip/errors.ts'
import type { StreamCorridor } from '../aip/passage.ts'
import type { Authenticate } from '../auth/tokens.ts'
import type { Call, Endpoint, StreamHandler } from './call.ts'
import { callOf, nobody, rendered } from './corridor.ts'
import { inTime } from './patience.ts'
import type { Report } from './report.ts'
import { asStatusError } from './report.ts'

/** How long the next document may be waited for, in milliseconds. */
const longestWait = 60_000

export function openStreamCorridor(authenticate: Authenticate, report: Report): StreamCorridor<Endpoint> {
  return async function* (endpoint, envelope, readRequest) {
    const started = performance.now()
    const deadline = Date.now() + envelope.timeout
    let caller: Caller | undefined
    let error: StatusError | undefined
    try {
      const isOpen = endpoint.method.access?.open ?? false
      caller = isOpen ? nobody : await authenticate(envelope.authorization)
      const call = callOf(endpoint.method, await readRequest(), caller, deadline, envelope)
      if (isOpen && call.demand.fault) throw call.demand.fault
      // Doors send only methods here whose answer is a stream.
      const stream = (endpoint.handler as StreamHandler)(call as Call<never>)[Symbol.asyncIterator]()
      for (;;) {
        const next = await inTime(stream.next(), Math.min(deadline, Date.now() + longestWait))
        if (next.done) return
        // What is at hand at once is in time, however long its reader took to ask for it.
        if (Date.now() >= deadline) throw deadlineExceeded()
        yield rendered(next.value, envelope.door)
      }
    } catch (thrown) {
      error = asStatusError(thrown)
      throw error
    } finally {
      report(endpoint.method, envelope, caller, performance.now() - started, error)
    }
  }
}
