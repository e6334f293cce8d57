// Performs the calls that another thread hands over.
import type { MessagePort } from 'node:worker_threads'
import { fromBinary } from '@bufbuild/protobuf'
import type { Endpoint } from '../rpc/call.ts'
import type { Caller } from '../wire/caller.ts'
import type { Corridor, Envelope, StreamCorridor } from '../wire/envelope.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import { wholeBuffer } from './call-client.ts'
import type { AnswerMessage, CallMessage, HandedCall, SentReply } from './call-messages.ts'
import { toSentError } from './sent-error.ts'

export type CallServerOptions = {
  endpoints: readonly Endpoint[]
  /** The corridors for a caller who is already authenticated. */
  corridorFor(caller: Caller): Corridor<Endpoint>
  streamCorridorFor(caller: Caller): StreamCorridor<Endpoint>
  /** If set, runs the code of a call for the party of its caller. */
  runForCaller?: (<T>(caller: Caller, task: () => T) => T) | undefined
}

/** The messages of a response that are still to be sent. */
type RemainingMessages = AsyncGenerator<AnswerMessage, void, void>

export function serveCalls(port: MessagePort, options: CallServerOptions): void {
  const byName = new Map(options.endpoints.map((endpoint) => [endpoint.method.name, endpoint]))
  const { runForCaller = (_, task) => task() } = options
  const open = new Map<number, { caller: Caller; messages: RemainingMessages }>()
  const post = (message: AnswerMessage) => port.postMessage(message)

  async function answer(
    id: number,
    { method, caller, envelope, request }: HandedCall,
  ): Promise<AnswerMessage> {
    const endpoint = byName.get(method)
    if (!endpoint) throw new Error(`${method} is not served`)
    const message = fromBinary(endpoint.method.desc.input, request)
    const readRequest = () => message
    if (endpoint.method.isStream) {
      const replies = options.streamCorridorFor(caller)(endpoint, envelope, readRequest)
      open.set(id, { caller, messages: streamed(id, await replies.next(), replies, envelope.door) })
      return { kind: 'parts', id }
    }
    const reply = await options.corridorFor(caller)(endpoint, envelope, readRequest)
    if (!reply.parts) return { kind: 'reply', id, reply: sentReply(reply, envelope.door) }
    open.set(id, { caller, messages: inParts(id, reply.parts()) })
    return { kind: 'parts', id }
  }

  async function answerNext(id: number): Promise<AnswerMessage> {
    const opened = open.get(id)
    const next = opened && (await runForCaller(opened.caller, () => opened.messages.next()))
    if (next && !next.done) return next.value
    open.delete(id)
    return { kind: 'done', id }
  }

  port.on('message', (message: CallMessage) => {
    const { id } = message
    if (message.kind === 'end') {
      void open.get(id)?.messages.return()
      open.delete(id)
      return
    }
    const answered =
      message.kind === 'call'
        ? runForCaller(message.call.caller, () => answer(id, message.call))
        : answerNext(id)
    answered.then(post, (error: unknown) => {
      open.delete(id)
      post({ kind: 'error', id, error: toSentError(error) })
    })
  })
  port.on('close', () => {
    for (const { messages } of open.values()) void messages.return()
    open.clear()
  })
}

async function* inParts(id: number, parts: JsonParts): RemainingMessages {
  try {
    for (let part = await parts.next(); part !== undefined; part = await parts.next()) {
      yield { kind: 'part', id, part }
      await parts.wait()
    }
  } finally {
    parts.end()
  }
}

async function* streamed(
  id: number,
  first: IteratorResult<Reply, void>,
  replies: AsyncGenerator<Reply, void, void>,
  door: Envelope['door'],
): RemainingMessages {
  try {
    for (let next = first; !next.done; next = await replies.next())
      yield { kind: 'streamed', id, reply: sentReply(next.value, door) }
  } finally {
    await replies.return()
  }
}

function sentReply(reply: Reply, door: Envelope['door']): SentReply {
  const { json, bytes, parts: _, onSent: __, ...others } = reply
  return door === 'rest' ? { ...others, json: json() } : { ...others, bytes: wholeBuffer(bytes()) }
}
