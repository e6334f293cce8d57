// Calls that another thread performs.
import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import type { Caller } from './caller.ts'
import type { Envelope } from './envelope.ts'
import type { Reply } from './reply.ts'

/** Hands a whole call to another thread and resolves to its reply. */
export type CallOtherThread = (
  method: Method,
  caller: Caller,
  envelope: Envelope,
  request: Message,
) => Promise<Reply>

export type OtherThreads = {
  /** For the methods that another thread performs. */
  forMethod(method: Method): CallOtherThread | undefined
  /** The thread for calls that would block this one. Undefined in that thread itself. */
  lane: CallOtherThread | undefined
}
