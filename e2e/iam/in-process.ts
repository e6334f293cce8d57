// Calls methods of a platform without a door, on behalf of a given caller. Property tests make
// thousands of calls this way, for which HTTP would take most of the time.
import { randomBytes } from 'node:crypto'
import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import { StatusError } from '../../server/aip/errors.ts'
import { noLimits } from '../../server/limits/rate/call-limits.ts'
import { openGrantParser } from '../../server/policy/grants.ts'
import type { Endpoint } from '../../server/rpc/call.ts'
import type { CorridorOptions } from '../../server/rpc/corridor.ts'
import { openCorridor } from '../../server/rpc/corridor.ts'
import { openDeadlines } from '../../server/rpc/deadline.ts'
import { openStreamCorridor } from '../../server/rpc/stream-corridor.ts'
import { noUnsentBudget } from '../../server/rpc/unsent-budget.ts'
import type { Platform } from '../../server/testing/platform.ts'
import type { Caller } from '../../server/wire/caller.ts'
import type { Envelope } from '../../server/wire/envelope.ts'

export type InProcess = {
  call<I extends DescMessage, O extends DescMessage>(
    caller: Caller,
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>>
  /** The error of a call; undefined if it succeeds. Of a stream, only the first message is read. */
  errorOf(
    caller: Caller,
    method: DescMethod,
    request: Record<string, unknown>,
  ): Promise<StatusError | undefined>
}

const envelope: Envelope = {
  ...{ door: 'grpc', requestId: 'test', authorization: undefined, address: '127.0.0.1', timeout: 60_000 },
  ...{ ifMatch: undefined, idempotencyKey: undefined, userAgent: undefined },
}

/** `now` is the clock of the calls: it decides whether access has expired. */
export function openInProcess({ app }: Platform, now: () => number): InProcess {
  const endpoints = new Map<DescMethod, Endpoint>(
    app.endpoints.map((endpoint) => [endpoint.method.desc, endpoint]),
  )
  const endpointOf = (method: DescMethod) => {
    const endpoint = endpoints.get(method)
    if (!endpoint) throw new Error(`${method.name} is not served`)
    return endpoint
  }
  const parseGrants = openGrantParser()
  const deadlines = openDeadlines(Date.now)
  const optionsFor = (caller: Caller): CorridorOptions => ({
    ...{ authenticate: () => caller, report() {}, deadlines, parseGrants, now, limits: noLimits },
    ...{ defaultLimits: new Map(), clock: () => 0, unsent: noUnsentBudget, random: randomBytes },
  })
  return {
    async call(caller, method, request) {
      const reply = await openCorridor(optionsFor(caller))(endpointOf(method), envelope, () =>
        create(method.input, request),
      )
      return fromBinary(method.output, reply.bytes())
    },
    async errorOf(caller, method, request) {
      const args = [endpointOf(method), envelope, () => create(method.input, request)] as const
      try {
        if (method.methodKind === 'unary') await openCorridor(optionsFor(caller))(...args)
        else for await (const _ of openStreamCorridor(optionsFor(caller))(...args)) break
        return undefined
      } catch (error) {
        if (error instanceof StatusError) return error
        throw error
      }
    },
  }
}
