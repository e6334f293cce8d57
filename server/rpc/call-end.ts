// Ends a call: renders its reply and counts it as unsent, or explains its error. Both are reported.
import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import { asStatusError, withHeaders } from '../aip/errors.ts'
import type { CallLimits } from '../limits/rate/call-limits.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import type { Report } from './report.ts'
import type { RunningCall } from './running-call.ts'
import { unsentClientOf } from './running-call.ts'
import type { UnsentBudget } from './unsent-budget.ts'
import { isValidation } from './validation-reply.ts'

export type CallEndOptions = {
  report: Report
  /** A monotonic clock in milliseconds, for the duration and the rate of calls. */
  clock(): number
  unsent: UnsentBudget
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

/** Responses up to this size do not count as unsent, because the concurrent calls of a connection are limited. */
const maxUncountedBytes = 64 * 1024

export function finishCall(options: CallEndOptions, running: RunningCall, reply: Reply): Reply {
  const { unsent } = options
  const { door } = running.envelope
  const { parts } = reply
  const headers = limitFieldsOf(options, running)
  if (parts && door === 'rest')
    return { ...reply, headers, parts: () => countedParts(options, running, parts()) }
  const rendered = renderFor(reply, door)
  if (headers) rendered.headers = headers
  const bytes = sizeFor(rendered, door)
  if (bytes > maxUncountedBytes) {
    const client = unsentClientOf(running)
    rendered.onSent = running.endpoint.method.isRead
      ? unsent.reserve(client, bytes)
      : unsent.count(client, bytes)
  }
  reportEnd(options, running)
  return rendered
}

export function failCall(options: CallEndOptions, running: RunningCall, thrown: unknown): never {
  const { envelope, caller, request } = running
  const { method } = running.endpoint
  const error = errorOf(options, running, thrown)
  reportEnd(options, running, error)
  if (!method.isRead && caller?.identity && request && !isValidation(method, request))
    options.onRefusedWrite?.(method, envelope, caller, request, error.code)
  // If the limits refuse a call of a known caller, the error is constant. Refusing must stay cheap, so no fields are added.
  const fields = caller && !error.isConstant ? limitFieldsOf(options, running) : undefined
  throw fields ? withHeaders(error, fields) : error
}

const errorOf = ({ limits }: CallEndOptions, { endpoint }: RunningCall, thrown: unknown) =>
  limits.explain(endpoint.method, asStatusError(thrown))

function reportEnd(
  { report, clock, limits }: CallEndOptions,
  { endpoint, envelope, started, caller, callerMeter }: RunningCall,
  error?: StatusError,
): void {
  limits.leave(callerMeter)
  report(endpoint.method, envelope, caller, clock() - started, error)
}

const limitFieldsOf = (
  { limits }: CallEndOptions,
  { started, costClass, callerMeter, networkMeter }: RunningCall,
) => limits.fieldsOf(costClass, callerMeter, networkMeter, started)

/** Counts each part as unsent until the next one is asked for, and reports the call when its response is complete. */
function countedParts(options: CallEndOptions, running: RunningCall, parts: JsonParts): JsonParts {
  let release = () => {}
  let isEnded = false
  function finish(error?: StatusError): void {
    if (isEnded) return
    isEnded = true
    release()
    parts.end(error)
    reportEnd(options, running, error)
  }
  return {
    wait: parts.wait,
    async next() {
      release()
      try {
        const part = await parts.next()
        if (part === undefined) finish()
        else release = options.unsent.reserve(unsentClientOf(running), Buffer.byteLength(part))
        return part
      } catch (thrown) {
        const error = errorOf(options, running, thrown)
        finish(error)
        throw error
      }
    },
    end: (error) => finish(error && errorOf(options, running, error)),
  }
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
