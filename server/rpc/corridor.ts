// What every call walks through, whichever door it came by: authenticate, read the request, say what access
// it needs and whether its values hold, run it, report.
import type { DescField, Message } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { Method } from '@stemma/api/method.ts'
import { scopeOf } from '@stemma/api/method.ts'
import type { StatusError } from '../aip/errors.ts'
import { invalidArgument } from '../aip/errors.ts'
import { violationsOf } from '../aip/validate.ts'
import type { Authenticate } from '../auth/tokens/authenticate.ts'
import type { Demand } from '../policy/admit.ts'
import type { Caller } from '../wire/caller.ts'
import type { Corridor, Envelope } from '../wire/envelope.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen, recover } from '../wire/maybe-promise.ts'
import type { Reply } from '../wire/reply.ts'
import type { Call, Endpoint, Handler } from './call.ts'
import { inTime } from './deadline.ts'
import type { Report } from './report.ts'
import { asStatusError } from './report.ts'

export function openCorridor(authenticate: Authenticate, report: Report): Corridor<Endpoint> {
  return ({ method, handler }, envelope, readRequest) => {
    const started = performance.now()
    const deadline = Date.now() + envelope.timeout
    const isOpen = method.access?.open ?? false
    let caller: Caller | undefined
    const tell = (error?: StatusError) => report(method, envelope, caller, performance.now() - started, error)

    function enter(known: Caller): MaybePromise<Reply> {
      caller = known
      return andThen(readRequest(), walk)
    }

    function walk(request: Message): MaybePromise<Reply> {
      const call = callOf(method, request, caller ?? nobody, deadline, envelope)
      if (isOpen && call.demand.fault) throw call.demand.fault
      // Doors send methods whose answer is a stream another way.
      const soon = (handler as Handler)(call as Call<never>)
      return andThen(soon instanceof Promise ? inTime(soon, deadline) : soon, leave)
    }

    function leave(answered: Reply): Reply {
      const reply = renderFor(answered, envelope.door)
      tell()
      return reply
    }

    return recover(
      () => andThen(isOpen ? nobody : authenticate(envelope.authorization), enter),
      (thrown) => {
        const error = asStatusError(thrown)
        tell(error)
        throw error
      },
    )
  }
}

/** Whoever makes a call that takes no access token. */
export const nobody: Caller = { identity: '', issuedAt: 0 }

const formOf = { rest: 'json', grpc: 'bytes' } as const

export function callOf(
  method: Method,
  request: Message,
  caller: Caller,
  deadline: number,
  { door, ifMatch, authorization, address }: Envelope,
): Call {
  const demand = demandOf(method, request, caller)
  return { method, request, deadline, ifMatch, authorization, address, form: formOf[door], demand }
}

function demandOf(method: Method, request: Message, caller: Caller): Demand {
  const { access, desc } = method
  const scopeField = method.scope.at(-1)
  return {
    caller,
    capabilities: access?.capabilities ?? [],
    scope: scopeOf(method, request),
    scopeField: scopeField?.name ?? '',
    unscoped: access?.unscoped ?? false,
    fault: faultOf(method, request),
    resourceType: (method.resource?.message ?? desc.output).typeName,
  }
}

/** Paths name fields of the resource where there is one. An update's resource is checked after the merge. */
function faultOf({ desc, resource }: Method, request: Message): StatusError | undefined {
  const violations = violationsOf(desc.input, request, resource)
  if (resource?.fieldKind === 'message') {
    const sent = reflect(desc.input, request)
    if (!sent.isSet(resource)) violations.push({ field: resource.name, description: 'is required' })
    else if (!desc.input.fields.some(isUpdateMask)) {
      violations.push(...violationsOf(resource.message, sent.get(resource).message))
    }
  }
  const [first, ...others] = violations
  return first && invalidArgument(first, ...others)
}

const isUpdateMask = (field: DescField) => field.name === 'update_mask'

/** In the form its door asks for, so that what fails in writing an answer is reported as well. */
export function renderFor(reply: Reply, door: Envelope['door']): Reply {
  if (door === 'rest') {
    const json = reply.json()
    return { ...reply, json: () => json }
  }
  const bytes = reply.bytes()
  return { ...reply, bytes: () => bytes }
}
