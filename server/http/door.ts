// What the doors are given: endpoints, and the one way through which every call goes. Stated here so that the
// doors know nothing of the rooms behind them.
import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'

export type Reply = { json(): string; bytes(): Uint8Array }

export type Endpoint = { method: Method }

export type Envelope = {
  door: 'rest' | 'grpc'
  requestId: string
  authorization: string | undefined
  timeout: number
}

export type Corridor<E extends Endpoint = Endpoint> = (
  endpoint: E,
  envelope: Envelope,
  readRequest: () => Message | Promise<Message>,
) => Promise<Reply>

export const longestCall = 60_000

/** What a caller sends as the id of a request is kept if it is harmless. */
export function requestIdOf(sent: unknown, make: () => string): string {
  return typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : make()
}
