import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Corridor } from '../../wire/envelope.ts'
import type { DoorOptions, Endpoint } from '../door.ts'
import type { Streams } from '../streams.ts'
import type { openErrorRenderer } from './error-body.ts'
import type { Match, Routes } from './routes.ts'

/** A page with its content security policy. */
export type ErrorPage = { body: string; policy: string }

/** Everything that the functions of the REST door share. */
export type RestContext<E extends Endpoint> = DoorOptions & {
  corridor: Corridor<E>
  streams: Streams<E>
  routes: Routes
  /** The realm of WWW-Authenticate challenges. */
  baseUrl: string
  corsOrigins: readonly string[]
  securityHeaders: readonly string[]
  renderError: ReturnType<typeof openErrorRenderer>
  isDraining(): boolean
  /** The page in place of the error, for a browser at a path that does not exist. */
  notFoundPageFor?(request: IncomingMessage): ErrorPage | undefined
  /** How long a client may go on sending a body after its request was rejected. */
  lingerMs: number
}

/** The part that is needed to write responses. */
export type ResponseContext = Omit<RestContext<Endpoint>, 'corridor' | 'streams' | 'routes'>

/**
 * A request and its response. `match` is undefined until the call is passed to the corridor, which
 * logs the errors from then on.
 */
export type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
  match: Match | undefined
}
