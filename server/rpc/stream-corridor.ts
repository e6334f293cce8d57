// The corridor of calls whose response is a stream of replies. A call is reported when its stream has ended.
import type { StatusError } from '../aip/errors.ts'
import { asStatusError, deadlineExceeded, TooExpensive, tooManyRequests } from '../aip/errors.ts'
import type { Meter } from '../limits/rate/meter.ts'
import type { Caller } from '../wire/caller.ts'
import { anonymous } from '../wire/caller.ts'
import type { StreamCorridor } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'
import type { Call, Endpoint, StreamHandler } from './call.ts'
import { renderFor } from './call-end.ts'
import type { CorridorOptions } from './corridor.ts'
import { callOf } from './corridor.ts'
import { demandOf } from './demand.ts'

/** Each stream keeps a page of rows in memory while its client reads, so the number of streams is limited. */
const maxStreamsPerCaller = 10

/** How long a handler may take for the next reply. */
const maxReplyMs = 60_000

export function openStreamCorridor({
  authenticate,
  report,
  deadlines,
  parseGrants,
  now,
  random,
  defaultLimits,
  clock,
  limits,
  otherThreads,
}: Omit<CorridorOptions, 'unsent'>): StreamCorridor<Endpoint> {
  const countStream = openStreamCounter()
  const demandOptions = { parseGrants, now, random, defaultLimits }
  return async function* (endpoint, envelope, readRequest, signal) {
    const started = clock()
    let deadline = deadlines.after(envelope.timeout)
    let caller: Caller | undefined
    let error: StatusError | undefined
    let callerMeter: Meter | undefined
    let release = () => {}
    let stream: AsyncIterator<Reply> | undefined
    const untilAborted = openAbort(signal)
    try {
      const costClass = limits.classOf(endpoint.method)
      const networkMeter = limits.arrive(costClass, envelope.address, started)
      const isOpen = endpoint.method.access?.open ?? false
      caller = isOpen ? anonymous : await authenticate(envelope.authorization, envelope)
      // The stream must not outlive the token.
      if (caller.expires !== undefined) deadline = Math.min(deadline, deadlines.after(caller.expires - now()))
      if (!isOpen) callerMeter = limits.enter(costClass, caller.identity, networkMeter, started)
      const request = await readRequest()
      const demand = demandOf(endpoint.method, request, caller, envelope, demandOptions)
      const call = { ...callOf(endpoint.method, request, demand, deadline, envelope), signal }
      if (isOpen && call.demand.fault) throw call.demand.fault
      release = countStream(caller)
      // Doors pass only methods with a stream to this corridor.
      stream = (endpoint.handler as StreamHandler)(call as Call<never>)[Symbol.asyncIterator]()
      const next = (replies: AsyncIterator<Reply>) =>
        deadlines.enforce(untilAborted(replies.next()), Math.min(deadline, deadlines.after(maxReplyMs)))
      let result = await next(stream).catch((thrown: unknown) => {
        const lane = thrown instanceof TooExpensive ? otherThreads?.lane : undefined
        if (!lane) throw thrown
        const remaining = { ...envelope, timeout: deadlines.msUntil(deadline) }
        stream = lane.stream(endpoint.method, caller ?? anonymous, remaining, request)
        return next(stream)
      })
      for (; !result.done; result = await next(stream)) {
        // `enforce` does not reject a promise that is already resolved, even after the deadline.
        if (deadlines.msUntil(deadline) <= 0) throw deadlineExceeded()
        yield renderFor(result.value, envelope.door)
      }
    } catch (thrown) {
      error = limits.explain(endpoint.method, asStatusError(thrown))
      throw error
    } finally {
      // Not awaited: a handler that is still making a reply stops only when that reply is made.
      stream?.return?.().catch(() => {})
      release()
      limits.leave(callerMeter)
      report(endpoint.method, envelope, caller, clock() - started, error)
    }
  }
}

/** Returns a function whose promise settles as the given one does, but rejects as soon as the signal is aborted. */
function openAbort(signal: AbortSignal | undefined): <T>(promise: Promise<T>) => Promise<T> {
  let onAbort = () => {}
  // One listener for the whole stream, because a stream can have very many replies.
  signal?.addEventListener('abort', () => onAbort())
  return (promise) =>
    new Promise((resolve, reject) => {
      onAbort = () => reject(signal?.reason)
      if (signal?.aborted) onAbort()
      promise.then(resolve, reject)
    })
}

/**
 * Limits the streams of each caller. Returns a function to call when a stream starts, which throws if the caller has
 * too many streams. That function returns another one, to call when the stream ends.
 */
function openStreamCounter(): (caller: Caller) => () => void {
  const running = new Map<string, number>()
  return ({ identity }) => {
    const before = running.get(identity) ?? 0
    if (before >= maxStreamsPerCaller)
      throw tooManyRequests(
        `you can have at most ${maxStreamsPerCaller} streams at a time; close one of them first`,
      )
    running.set(identity, before + 1)
    return () => {
      const remaining = (running.get(identity) ?? 1) - 1
      if (remaining === 0) running.delete(identity)
      else running.set(identity, remaining)
    }
  }
}
