// The corridor, which every call passes, whichever door it came through: authenticate the caller, read the request,
// compute its demand, run the handler, report the call.
import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import { TooExpensive } from '../aip/errors.ts'
import type { Authenticate } from '../auth/tokens/authenticate.ts'
import type { Demand } from '../policy/admit.ts'
import type { Caller } from '../wire/caller.ts'
import { anonymous } from '../wire/caller.ts'
import type { Corridor, Envelope } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import type { CallOtherThread, OtherThreads } from '../wire/other-thread.ts'
import type { Reply } from '../wire/reply.ts'
import type { Call, Endpoint, Handler } from './call.ts'
import type { CallEndOptions } from './call-end.ts'
import { failCall, finishCall } from './call-end.ts'
import type { Deadlines } from './deadline.ts'
import type { DemandOptions } from './demand.ts'
import { demandOf } from './demand.ts'
import type { RunningCall } from './running-call.ts'
import { unsentClientOf } from './running-call.ts'
import { isValidation, validationReply } from './validation-reply.ts'

/** Receives the envelope too: the registry needs more of it than the Authorization header. */
export type AuthenticateCall = (
  authorization: string | undefined,
  envelope: Envelope,
) => ReturnType<Authenticate>

/** `parseGrants` is shared by all calls, since it has a cache. */
export type CorridorOptions = DemandOptions &
  CallEndOptions & {
    authenticate: AuthenticateCall
    deadlines: Deadlines
    /** Undefined if this thread performs every call. */
    otherThreads?: OtherThreads | undefined
  }

export function openCorridor(options: CorridorOptions): Corridor<Endpoint> {
  return (endpoint, envelope, readRequest) => {
    const running = startCall(options, endpoint, envelope)
    return recover(
      () =>
        andThen(authenticateCaller(options, running), (caller) => {
          enterLimits(options, running, caller)
          return andThen(readRequest(), (request) => run(options, running, request))
        }),
      (thrown) => {
        const lane = thrown instanceof TooExpensive ? options.otherThreads?.lane?.call : undefined
        const { request } = running
        if (!lane || !request) return failCall(options, running, thrown)
        return recover(
          () => runIn(lane, options, running, request),
          (thrownInLane) => failCall(options, running, thrownInLane),
        )
      },
    )
  }
}

function startCall(
  { clock, deadlines, limits }: CorridorOptions,
  endpoint: Endpoint,
  envelope: Envelope,
): RunningCall {
  return {
    endpoint,
    envelope,
    started: clock(),
    deadline: deadlines.after(envelope.timeout),
    costClass: limits.classOf(endpoint.method),
    caller: undefined,
    request: undefined,
    networkMeter: undefined,
    callerMeter: undefined,
  }
}

function authenticateCaller(
  { authenticate, limits }: CorridorOptions,
  running: RunningCall,
): MaybePromise<Caller> {
  const { endpoint, envelope, started, costClass } = running
  running.networkMeter = limits.arrive(costClass, envelope.address, started)
  return isOpen(endpoint.method) ? anonymous : authenticate(envelope.authorization, envelope)
}

function enterLimits({ limits }: CorridorOptions, running: RunningCall, caller: Caller): void {
  const { endpoint, started, costClass, networkMeter } = running
  running.caller = caller
  // Anonymous callers have only the limits of their network.
  if (!isOpen(endpoint.method) && caller.identity !== '')
    running.callerMeter = limits.enter(costClass, caller.identity, networkMeter, started)
}

function run(options: CorridorOptions, running: RunningCall, request: Message): MaybePromise<Reply> {
  const { deadlines, unsent, otherThreads } = options
  const { endpoint, envelope, deadline, caller } = running
  const { method, handler } = endpoint
  running.request = request
  if (!method.isRead) unsent.requireRoom(unsentClientOf(running))
  const otherThread = otherThreads?.forMethod(method)
  if (otherThread) return runIn(otherThread, options, running, request)
  const demand = demandOf(method, request, caller ?? anonymous, envelope, options)
  const call = callOf(method, request, demand, deadline, envelope)
  // Handlers of methods that are not open throw the fault themselves, after they have authorized the caller.
  if (isOpen(method) && call.demand.fault) throw call.demand.fault
  if (isValidation(method, request)) return validate(options, running, call)
  // Not a StreamHandler: doors pass methods with a stream to the stream corridor.
  const reply = (handler as Handler)(call as Call<never>)
  return andThen(reply instanceof Promise ? deadlines.enforce(reply, deadline) : reply, (made) =>
    finishCall(options, running, made),
  )
}

/** Never falls back to the handler, which would write. */
async function validate(options: CorridorOptions, running: RunningCall, call: Call): Promise<Reply> {
  const { method, validator } = running.endpoint
  if (!validator) throw new Error(`${method.name} has no validator`)
  const validated = Promise.resolve(validator(call as Call<never>))
  const reply = await options.deadlines.enforce(validated, running.deadline)
  return finishCall(options, running, validationReply(method, reply))
}

function runIn(
  otherThread: CallOtherThread,
  options: CorridorOptions,
  running: RunningCall,
  request: Message,
): Promise<Reply> {
  const { deadlines } = options
  const { endpoint, envelope, deadline, caller } = running
  const remaining = { ...envelope, timeout: deadlines.msUntil(deadline) }
  const reply = otherThread(endpoint.method, caller ?? anonymous, remaining, request)
  const answered = deadlines.enforce(reply, deadline).catch((error: unknown) => {
    reply.then(endUnread).catch(() => {})
    throw error
  })
  return answered.then((made) => finishCall(options, running, made))
}

/** Ends a reply that comes after the deadline, because the other thread keeps its parts until they are read or ended. */
async function endUnread({ parts }: Reply): Promise<void> {
  const unread = parts?.()
  await unread?.next()
  unread?.end()
}

const isOpen = ({ access }: Method) => access?.open ?? false

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
