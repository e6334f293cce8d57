import type { Message } from '@bufbuild/protobuf'
import type { Meter } from '../limits/rate/meter.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Endpoint } from './call.ts'
import type { UnsentClient } from './unsent-budget.ts'

/** A call in the corridor. The fields that are not read-only are undefined until their step has run. */
export type RunningCall = {
  readonly endpoint: Endpoint
  readonly envelope: Envelope
  /** By the monotonic clock, in milliseconds. */
  readonly started: number
  /** In milliseconds since 1970. */
  readonly deadline: number
  /** An index of `costClasses`. */
  readonly costClass: number
  caller: Caller | undefined
  request: Message | undefined
  networkMeter: Meter | undefined
  callerMeter: Meter | undefined
}

export const unsentClientOf = ({ caller, envelope }: RunningCall): UnsentClient => ({
  identity: caller?.identity ?? '',
  address: envelope.address,
})
