import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Handle } from '../dispatch.ts'
import type { PartyOptions } from './party.ts'
import { partyOf } from './party.ts'
import type { Turns } from './turns.ts'

/** Returns a function that answers each HTTP/1.1 request in its turn, unless its connection is closed by then. */
export const answerInTurn =
  (turns: Turns, options: PartyOptions, answer: Handle) =>
  (request: IncomingMessage, response: ServerResponse): void =>
    turns.run(
      () => partyOf(options, request.headers, request.socket.remoteAddress),
      () => (response.destroyed ? undefined : answer(request, response)),
    )
