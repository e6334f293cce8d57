// Hands calls to another thread and returns its replies.
import type { MessagePort, Worker } from 'node:worker_threads'
import { toBinary } from '@bufbuild/protobuf'
import { unavailable } from '../aip/errors.ts'
import type { CallOtherThread, StreamOtherThread } from '../wire/other-thread.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import type { AnswerMessage, CallMessage, SentReply } from './call-messages.ts'
import { fromSentError } from './sent-error.ts'

export type CallClient = {
  call: CallOtherThread
  /** Resolves when the first reply is made, and rejects if it cannot be made. */
  openStream(...call: Parameters<StreamOtherThread>): Promise<ReturnType<StreamOtherThread>>
  /** Whether no call is under way. */
  isIdle(): boolean
  /** Rejects the calls that wait for the other thread. */
  close(): void
}

type Port = Pick<MessagePort, 'postMessage'> & Pick<MessagePort | Worker, 'on'>
type Waiting = { onAnswer(answer: AnswerMessage): void; onLost(): void }

/** Calls wait for their answers without a time limit. When the other thread has ended, `close` rejects them. */
export function openCallClient(port: Port): CallClient {
  const waiting = new Map<number, Waiting>()
  const open = new Set<number>()
  let lastId = 0
  let isClosed = false
  const post = (message: CallMessage) => port.postMessage(message)

  // There may be an answer to a call that has ended, if its client has disconnected.
  port.on('message', (answer: AnswerMessage) => waiting.get(answer.id)?.onAnswer(answer))

  function close(): void {
    isClosed = true
    for (const { onLost } of waiting.values()) onLost()
    waiting.clear()
  }

  /** Sends a message and waits for the answer with the same id. Rejects if the answer is an error. */
  function ask(message: CallMessage): Promise<AnswerMessage> {
    if (isClosed) return Promise.reject(threadEnded())
    return new Promise((resolve, reject) => {
      const { id } = message
      const onLost = () => reject(threadEnded())
      const onAnswer = (answer: AnswerMessage) => {
        waiting.delete(id)
        if (answer.kind === 'error') reject(fromSentError(answer.error))
        else resolve(answer)
      }
      waiting.set(id, { onAnswer, onLost })
      post(message)
    })
  }

  /** The answers after the first one. The call ends when the generator does. */
  async function* readAnswers(id: number): AsyncGenerator<AnswerMessage, void, void> {
    open.add(id)
    let isComplete = false
    try {
      for (;;) {
        const answer = await ask({ kind: 'next', id }).catch((error: unknown) => {
          isComplete = true
          throw error
        })
        isComplete = answer.kind === 'done'
        if (isComplete) return
        yield answer
      }
    } finally {
      open.delete(id)
      if (!isComplete && !isClosed) post({ kind: 'end', id })
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
    return { id, answered: ask({ kind: 'call', id, call }) }
  }

  return {
    close,
    isIdle: () => waiting.size === 0 && open.size === 0,
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

/** The call may or may not have been performed. It was not acknowledged, so the caller decides whether to repeat it. */
const threadEnded = () => unavailable('the thread of the call has ended and is being replaced; try again')
