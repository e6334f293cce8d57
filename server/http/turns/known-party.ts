// Makes the party of a call known to the code that performs it (fair-queueing/parties.ts).
import type { Parties } from '../../fair-queueing/parties.ts'
import type { Corridor, Envelope } from '../../wire/envelope.ts'
import type { Endpoint } from '../door.ts'
import type { Streams } from '../streams.ts'
import type { PartyOptions } from './party.ts'
import { partyOfCall } from './party.ts'
import type { Turns } from './turns.ts'

export type RunFor = Parties['runFor']

/** For HTTP/1.1: a request is performed by the code that its turn starts. */
export const turnsWithParty = (turns: Turns, runFor: RunFor): Turns => ({
  ...turns,
  run: (partyOf, start, refuse) => turns.run(partyOf, () => runFor(partyOf, start), refuse),
})

type Calls<E extends Endpoint> = { corridor: Corridor<E>; streams: Streams<E> }

/** For gRPC: a call is performed by the listeners of its stream, which its turn does not start. */
export function callsWithParty<E extends Endpoint>(
  { corridor, streams, ...options }: Calls<E> & Pick<PartyOptions, 'findCaller' | 'knownNetworks'>,
  runFor: RunFor,
): Calls<E> {
  const partyOf = ({ authorization, address }: Envelope) => partyOfCall(options, authorization, address)
  return {
    corridor: (...call) =>
      runFor(
        () => partyOf(call[1]),
        () => corridor(...call),
      ),
    streams: {
      ...streams,
      run: (client, ...call) =>
        runFor(
          () => partyOf(call[1]),
          () => streams.run(client, ...call),
        ),
    },
  }
}
