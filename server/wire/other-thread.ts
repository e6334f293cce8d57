// Calls that another thread performs.
import type { Message } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import type { Caller } from './caller.ts'
import type { Envelope } from './envelope.ts'
import type { Reply } from './reply.ts'

type WholeCall = [method: Method, caller: Caller, envelope: Envelope, request: Message]

/** Hands a whole call to another thread and resolves to its reply. */
export type CallOtherThread = (...call: WholeCall) => Promise<Reply>

/** The same for a call whose response is a stream. Each reply is made when it is asked for. */
export type StreamOtherThread = (...call: WholeCall) => AsyncGenerator<Reply, void, void>

/** The thread for calls that would block others. */
export type ExpensiveCalls = { call: CallOtherThread; stream: StreamOtherThread }

export type OtherThreads = {
  /** Undefined if this thread performs the calls of the method. */
  forMethod(method: Method): CallOtherThread | undefined
  /** Undefined in the thread of the lane itself. */
  lane: ExpensiveCalls | undefined
}
