// The messages by which one thread hands a call to another. A call is handed over whole, before any of its work is
// done.
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { Json, Reply } from '../wire/reply.ts'
import type { SentError } from './sent-error.ts'

/** `id` is unique among the calls of one message port. */
export type CallMessage =
  | { kind: 'call'; id: number; call: HandedCall }
  /** Asks for the next part of a response in parts, or the next reply of a stream. */
  | { kind: 'next'; id: number }
  /** The caller needs no further parts. */
  | { kind: 'end'; id: number }

export type HandedCall = {
  /** The name of the method, as in `Method.name`. */
  method: string
  /** Authenticated by the thread that hands the call over. */
  caller: Caller
  /** Its timeout is the remaining time of the call. */
  envelope: Envelope
  /** The request message in protobuf encoding. */
  request: Uint8Array<ArrayBuffer>
}

export type AnswerMessage =
  | { kind: 'reply'; id: number; reply: SentReply }
  /** The response comes in parts, or is a stream. Each part or reply is sent when it is asked for. */
  | { kind: 'parts'; id: number }
  | { kind: 'part'; id: number; part: string }
  /** A reply of a stream. */
  | { kind: 'streamed'; id: number; reply: SentReply }
  | { kind: 'done'; id: number }
  | { kind: 'error'; id: number; error: SentError }

/** Only the form for the door of the call is set. */
export type SentReply = Pick<Reply, 'etag' | 'isReplayed' | 'warnings'> & {
  json?: Json
  bytes?: Uint8Array<ArrayBuffer>
}
