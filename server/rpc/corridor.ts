// The corridor, which every call passes, whichever door it came through: authenticate the caller, read the request,
// compute its demand, run the handler, report the call.
import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import { isValidateOnly } from '@stemma/api/validation.ts'
import type { StatusError } from '../aip/errors.ts'
import { asStatusError, TooExpensive, withHeaders } from '../aip/errors.ts'
import type { Authenticate } from '../auth/tokens/authenticate.ts'
import type { CallLimits } from '../limits/rate/call-limits.ts'
import type { Meter } from '../limits/rate/meter.ts'
import type { Demand } from '../policy/admit.ts'
import type { ParseGrants } from '../policy/grants.ts'
import type { Caller } from '../wire/caller.ts'
import { anonymous } from '../wire/caller.ts'
import type { Corridor, Envelope } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import type { CallOtherThread, OtherThreads } from '../wire/other-thread.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import type { Call, Endpoint, Handler } from './call.ts'
import type { Deadlines } from './deadline.ts'
import { demandOf } from './demand.ts'
import type { Report } from './report.ts'
import type { UnsentBudget } from './unsent-budget.ts'
import { validationReply } from './validation-reply.ts'

/** Receives the envelope too: the registry needs more of it than the Authorization header. */
export type AuthenticateCall = (
  authorization: string | undefined,
  envelope: Envelope,
) => ReturnType<Authenticate>

export type CorridorOptions = {
  authenticate: AuthenticateCall
  report: Report
  deadlines: Deadlines
  /** Shared by all calls, since it has a cache. */
  parseGrants: ParseGrants
  now: Demand['now']
  random: Demand['random']
  defaultLimits: Demand['defaultLimits']
  /** A monotonic clock in milliseconds, for the duration and the rate of calls. */
  clock(): number
  unsent: UnsentBudget
  /** Undefined if this thread performs every call. */
  otherThreads?: OtherThreads | undefined
  limits: CallLimits
  /** Called for a call that should have changed something and failed. Absent where another corridor reports it. */
  onRefusedWrite?: OnRefusedWrite | undefined
}

export type OnRefusedWrite = (
  method: Method,
  envelope: Envelope,
  caller: Caller,
  request: Message,
  code: number,
) => void

export function openCorridor({
  authenticate,
  report,
  deadlines,
  parseGrants,
  now,
  random,
  defaultLimits,
  clock,
  unsent,
  otherThreads,
  limits,
  onRefusedWrite,
}: CorridorOptions): Corridor<Endpoint> {
  const demandOptions = { parseGrants, now, random, defaultLimits }
  return ({ method, handler, validator }, envelope, readRequest) => {
    const started = clock()
    const deadline = deadlines.after(envelope.timeout)
    const isOpen = method.access?.open ?? false
    const costClass = limits.classOf(method)
    let caller: Caller | undefined
    let received: Message | undefined
    let networkMeter: Meter | undefined
    let callerMeter: Meter | undefined
    const errorOf = (thrown: unknown) => limits.explain(method, asStatusError(thrown))

    function reportEnd(error?: StatusError): void {
      limits.leave(callerMeter)
      report(method, envelope, caller, clock() - started, error)
    }

    function authenticateCaller(): MaybePromise<Caller> {
      networkMeter = limits.arrive(costClass, envelope.address, started)
      return isOpen ? anonymous : authenticate(envelope.authorization, envelope)
    }

    function read(authenticated: Caller): MaybePromise<Reply> {
      caller = authenticated
      // Anonymous callers have only the limits of their network.
      if (!isOpen && caller.identity !== '')
        callerMeter = limits.enter(costClass, caller.identity, networkMeter, started)
      return andThen(readRequest(), run)
    }

    function run(request: Message): MaybePromise<Reply> {
      received = request
      if (!method.isRead) unsent.requireRoom(unsentClient())
      const otherThread = otherThreads?.forMethod(method)
      if (otherThread) return runIn(otherThread, request)
      const demand = demandOf(method, request, caller ?? anonymous, envelope, demandOptions)
      const call = callOf(method, request, demand, deadline, envelope)
      // Handlers of methods that are not open throw the fault themselves, after they have authorized the caller.
      if (isOpen && call.demand.fault) throw call.demand.fault
      if (isValidation(method, request)) return validate(call)
      // Not a StreamHandler: doors pass methods with a stream to the stream corridor.
      const reply = (handler as Handler)(call as Call<never>)
      return andThen(reply instanceof Promise ? deadlines.enforce(reply, deadline) : reply, finish)
    }

    /** Never falls back to the handler, which would write. */
    async function validate(call: Call): Promise<Reply> {
      if (!validator) throw new Error(`${method.name} has no validator`)
      const reply = await deadlines.enforce(Promise.resolve(validator(call as Call<never>)), deadline)
      return finish(validationReply(method, reply))
    }

    function runIn(otherThread: CallOtherThread, request: Message): MaybePromise<Reply> {
      const remaining = { ...envelope, timeout: deadlines.msUntil(deadline) }
      const reply = otherThread(method, caller ?? anonymous, remaining, request)
      const answered = deadlines.enforce(reply, deadline).catch((error: unknown) => {
        reply.then(endUnread).catch(() => {})
        throw error
      })
      return andThen(answered, finish)
    }

    const unsentClient = () => ({ identity: caller?.identity ?? '', address: envelope.address })
    const reserve = (bytes: number) => unsent.reserve(unsentClient(), bytes)

    const limitFields = () => limits.fieldsOf(costClass, callerMeter, networkMeter, started)

    function finish(reply: Reply): Reply {
      const { parts } = reply
      const headers = limitFields()
      if (parts && envelope.door === 'rest')
        return { ...reply, headers, parts: () => countedParts(parts(), reserve, errorOf, reportEnd) }
      const rendered = renderFor(reply, envelope.door)
      if (headers) rendered.headers = headers
      const bytes = sizeFor(rendered, envelope.door)
      if (bytes > maxUncountedBytes)
        rendered.onSent = method.isRead ? reserve(bytes) : unsent.count(unsentClient(), bytes)
      reportEnd()
      return rendered
    }

    function fail(thrown: unknown): never {
      const error = errorOf(thrown)
      reportEnd(error)
      if (!method.isRead && caller?.identity && received && !isValidation(method, received))
        onRefusedWrite?.(method, envelope, caller, received, error.code)
      // Refusals of a call that was not admitted are constant, and must stay cheap.
      const fields = caller && !error.isConstant ? limitFields() : undefined
      throw fields ? withHeaders(error, fields) : error
    }

    return recover(
      () => andThen(authenticateCaller(), read),
      (thrown) => {
        const lane = thrown instanceof TooExpensive ? otherThreads?.lane?.call : undefined
        const request = received
        return lane && request ? recover(() => runIn(lane, request), fail) : fail(thrown)
      },
    )
  }
}

/** Responses up to this size do not count as unsent, because the concurrent calls of a connection are limited. */
const maxUncountedBytes = 64 * 1024

/** Ends a reply that comes after the deadline, because the other thread keeps its parts until they are read or ended. */
async function endUnread({ parts }: Reply): Promise<void> {
  const unread = parts?.()
  await unread?.next()
  unread?.end()
}

/** Counts each part as unsent until the next one is asked for, and reports the call when its response is complete. */
function countedParts(
  parts: JsonParts,
  reserve: (bytes: number) => () => void,
  errorOf: (thrown: unknown) => StatusError,
  reportEnd: (error?: StatusError) => void,
): JsonParts {
  let release = () => {}
  let isEnded = false
  function finish(error?: StatusError): void {
    if (isEnded) return
    isEnded = true
    release()
    parts.end(error)
    reportEnd(error)
  }
  return {
    wait: parts.wait,
    async next() {
      release()
      try {
        const part = await parts.next()
        if (part === undefined) finish()
        else release = reserve(Buffer.byteLength(part))
        return part
      } catch (thrown) {
        const error = errorOf(thrown)
        finish(error)
        throw error
      }
    },
    end: (error) => finish(error && errorOf(error)),
  }
}

const isValidation = ({ canValidate }: Method, request: Message) => canValidate && isValidateOnly(request)

const formOf = { rest: 'json', grpc: 'bytes', oci: 'bytes', authzen: 'bytes' } as const

export function callOf(
  method: Method,
  request: Message,
  demand: Demand,
  deadline: number,
  { door, ifMatch, authorization, address, idempotencyKey }: Envelope,
): Call {
  const validates = isValidation(method, request)
  const sentKey =
    idempotencyKey === undefined || !method.isCreate || validates
      ? undefined
      : { header: idempotencyKey, method, request }
  // With a key, the response is stored as bytes: a repeated call may come through another door.
  const form = sentKey || validates ? 'bytes' : formOf[door]
  return { method, request, deadline, ifMatch, authorization, address, form, demand, sentKey }
}

function sizeFor(rendered: Reply, door: Envelope['door']): number {
  if (door === 'oci' && rendered.unencoded) return rendered.unencoded.size
  return door === 'rest' ? rendered.json().size : rendered.bytes().length
}

/** Renders the form that the door will ask for, so that an error in rendering is reported too. */
export function renderFor(reply: Reply, door: Envelope['door']): Reply {
  if (door === 'oci' && reply.unencoded) return { ...reply }
  if (door === 'rest') {
    const json = reply.json()
    return { ...reply, json: () => json }
  }
  const bytes = reply.bytes()
  return { ...reply, bytes: () => bytes }
}
