// Performs the calls that another thread hands over.
import type { MessagePort } from 'node:worker_threads'
import { fromBinary } from '@bufbuild/protobuf'
import type { Endpoint } from '../rpc/call.ts'
import type { Caller } from '../wire/caller.ts'
import type { Corridor } from '../wire/envelope.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import { wholeBuffer } from './call-client.ts'
import type { AnswerMessage, CallMessage, HandedCall, SentReply } from './call-messages.ts'
import { toSentError } from './sent-error.ts'

export type CallServerOptions = {
  endpoints: readonly Endpoint[]
  /** The corridor for a caller who is already authenticated. */
  corridorFor(caller: Caller): Corridor<Endpoint>
}

export function serveCalls(port: MessagePort, { endpoints, corridorFor }: CallServerOptions): void {
  const byName = new Map(endpoints.map((endpoint) => [endpoint.method.name, endpoint]))
  const openParts = new Map<number, JsonParts>()
  const post = (message: AnswerMessage) => port.postMessage(message)

  async function perform({ method, caller, envelope, request }: HandedCall): Promise<Reply> {
    const endpoint = byName.get(method)
    if (!endpoint) throw new Error(`${method} is not served`)
    const message = fromBinary(endpoint.method.desc.input, request)
    return corridorFor(caller)(endpoint, envelope, () => message)
  }

  async function answer(id: number, call: HandedCall): Promise<AnswerMessage> {
    const reply = await perform(call)
    if (!reply.parts) return { kind: 'reply', id, reply: sentReply(reply, call.envelope.door) }
    openParts.set(id, reply.parts())
    return { kind: 'parts', id }
  }

  async function answerPart(id: number): Promise<AnswerMessage> {
    const next = await openParts.get(id)?.next()
    if (next && !next.done) return { kind: 'part', id, part: next.value }
    openParts.delete(id)
    return { kind: 'done', id }
  }

  port.on('message', (message: CallMessage) => {
    const { id } = message
    if (message.kind === 'end') {
      void openParts.get(id)?.return()
      openParts.delete(id)
      return
    }
    const answered = message.kind === 'call' ? answer(id, message.call) : answerPart(id)
    answered.then(post, (error: unknown) => {
      openParts.delete(id)
      post({ kind: 'error', id, error: toSentError(error) })
    })
  })
  port.on('close', () => {
    for (const parts of openParts.values()) void parts.return()
    openParts.clear()
  })
}

function sentReply(reply: Reply, door: HandedCall['envelope']['door']): SentReply {
  const { json, bytes, parts: _, onSent: __, ...others } = reply
  return door === 'rest' ? { ...others, json: json() } : { ...others, bytes: wholeBuffer(bytes()) }
}
