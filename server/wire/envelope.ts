// The types that doors and corridor share.
import type { Message } from '@bufbuild/protobuf'
import type { MaybePromise } from './maybe-promise.ts'
import type { Reply } from './reply.ts'
import type { RepoNeed } from './repo-access.ts'

/** Everything that a door knows about a call before it reads the request message. */
export type Envelope = {
  door: 'rest' | 'grpc' | 'oci' | 'authzen'
  requestId: string
  authorization: string | undefined
  /** The client's address; behind a trusted proxy, the one that the proxy reports. */
  address: string
  /** How long the caller waits, in milliseconds. */
  timeout: number
  /** The `If-Match` header (RFC 9110). */
  ifMatch: string | undefined
  /** The `Idempotency-Key` header. */
  idempotencyKey: string | undefined
  /** The `User-Agent` header, as sent. */
  userAgent: string | undefined
  /** The call that made this one: v1 calls v2. The event log names the first call. */
  madeBy?: CallOrigin | undefined
  /**
   * At the registry: when the request arrived, in milliseconds since 1970. A request can make several calls while its
   * body arrives; its credentials need to be valid at this time only.
   */
  arriveTime?: number | undefined
  /** At the registry: the repo that the request names, and what it does there. */
  repo?: RepoNeed | undefined
}

/** The called method and its envelope, for the event log. */
export type CallOrigin = { method: string; envelope: Envelope }

/** Answers one call. It authenticates the caller before it calls `readRequest`. */
export type Corridor<Endpoint> = (
  endpoint: Endpoint,
  envelope: Envelope,
  readRequest: () => MaybePromise<Message>,
) => MaybePromise<Reply>

/**
 * Answers a call whose response is a stream, one reply each time the door asks for the next. The door ends the
 * generator with `return` when the client has read enough, and with `throw` when the connection fails. A generator that
 * is making a reply cannot be ended in this way; if `signal` is aborted, it fails at once with the reason of the signal.
 */
export type StreamCorridor<Endpoint> = (
  ...call: [...Parameters<Corridor<Endpoint>>, signal?: AbortSignal]
) => AsyncGenerator<Reply, void, void>
