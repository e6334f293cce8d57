// What passes between the doors and the corridor behind them, stated where both can see it.
import type { Message } from '@bufbuild/protobuf'

/** What a door knows of a call before it has read the request. */
export type Envelope = {
  door: 'rest' | 'grpc'
  requestId: string
  authorization: string | undefined
  /** How long the caller waits, in milliseconds. */
  timeout: number
}

/** An answer that each door asks for in its own form. */
export type Reply = { json(): string; bytes(): Uint8Array }

/** The one way that every call goes. The request is read once the caller is known. */
export type Corridor<Endpoint> = (
  endpoint: Endpoint,
  envelope: Envelope,
  readRequest: () => Message | Promise<Message>,
) => Promise<Reply>
