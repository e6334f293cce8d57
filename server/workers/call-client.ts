// Hands calls to another thread and returns its replies.
import { toBinary } from '@bufbuild/protobuf'
import type { CallOtherThread, StreamOtherThread } from '../wire/other-thread.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import type { AnswerMessage, SentReply } from './call-messages.ts'
import type { ThreadPort } from './call-port.ts'
import { openCallPort } from './call-port.ts'

export type CallClient = {
  call: CallOtherThread
  /** Resolves when the first reply is made, and rejects if it cannot be made. */
  openStream(...call: Parameters<StreamOtherThread>): Promise<ReturnType<StreamOtherThread>>
  /** Whether no call is under way. */
  isIdle(): boolean
  /** Rejects the calls that wait for the other thread. */
  close(): void
}

/** Calls wait for their answers without a time limit. When the other thread has ended, `close` rejects them. */
export function openCallClient(thread: ThreadPort): CallClient {
  const port = openCallPort(thread)
  const open = new Set<number>()
  let lastId = 0

  /** The answers after the first one. The call ends when the generator does. */
  async function* readAnswers(id: number): AsyncGenerator<AnswerMessage, void, void> {
    open.add(id)
    let isComplete = false
    try {
      for (;;) {
        const answer = await port.ask({ kind: 'next', id }).catch((error: unknown) => {
          isComplete = true
          throw error
        })
        isComplete = answer.kind === 'done'
        if (isComplete) return
        yield answer
      }
    } finally {
      open.delete(id)
      if (!isComplete) port.tell({ kind: 'end', id })
    }
  }

  function readParts(id: number): JsonParts {
    const answers = readAnswers(id)
    return {
      wait: async () => {}, // the other thread waits before it makes the next part
      async next() {
        const { value: answer } = await answers.next()
        return answer?.kind === 'part' ? answer.part : undefined
      },
      end: () => void answers.return(),
    }
  }

  async function* readReplies(id: number): AsyncGenerator<Reply, void, void> {
    for await (const answer of readAnswers(id)) if (answer.kind === 'streamed') yield replyOf(answer.reply)
  }

  function begin(...[{ name, desc }, caller, envelope, request]: Parameters<CallOtherThread>) {
    const id = ++lastId
    const call = { method: name, caller, envelope, request: wholeBuffer(toBinary(desc.input, request)) }
    return { id, answered: port.ask({ kind: 'call', id, call }) }
  }

  return {
    close: port.close,
    isIdle: () => port.isIdle() && open.size === 0,
    async call(...call) {
      const { id, answered } = begin(...call)
      const answer = await answered
      if (answer.kind === 'parts') return { ...unrendered, parts: () => readParts(id) }
      if (answer.kind !== 'reply') throw new Error(`a call was answered with ${answer.kind}`)
      return replyOf(answer.reply)
    },
    async openStream(...call) {
      const { id, answered } = begin(...call)
      await answered
      return readReplies(id)
    },
  }
}

/** Returns the bytes in a buffer of exactly their size, because posting a view copies its whole buffer. */
export const wholeBuffer = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice() // the bytes are never in a SharedArrayBuffer

const missingForm = () => {
  throw new Error('the reply of the other thread does not have this form')
}
const unrendered = { json: missingForm, bytes: missingForm }

const replyOf = ({ json, bytes, ...others }: SentReply): Reply => ({
  ...others,
  json: json ? () => json : missingForm,
  bytes: bytes ? () => bytes : missingForm,
})
