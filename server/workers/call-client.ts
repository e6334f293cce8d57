// Hands calls to another thread and returns its replies.
import type { MessagePort, Worker } from 'node:worker_threads'
import { toBinary } from '@bufbuild/protobuf'
import { unavailable } from '../aip/errors.ts'
import type { CallOtherThread } from '../wire/other-thread.ts'
import type { JsonParts, Reply } from '../wire/reply.ts'
import type { AnswerMessage, CallMessage, SentReply } from './call-messages.ts'
import { fromSentError } from './sent-error.ts'

export type CallClient = {
  call: CallOtherThread
  /** Rejects the calls that wait for the other thread. */
  close(): void
}

type Port = Pick<MessagePort, 'postMessage'> & Pick<MessagePort | Worker, 'on'>
type Waiting = { onAnswer(answer: AnswerMessage): void; onLost(): void }

/** The calls wait for answers until the other thread ends (`close`). */
export function openCallClient(port: Port): CallClient {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let isClosed = false
  const post = (message: CallMessage) => port.postMessage(message)

  port.on('message', (answer: AnswerMessage) => {
    const { id } = answer
    const calls = waiting.get(id)
    // An answer to a call that has ended, such as a part that was asked for before its client disconnected.
    calls?.onAnswer(answer)
  })

  function close(): void {
    isClosed = true
    for (const { onLost } of waiting.values()) onLost()
    waiting.clear()
  }

  /** Sends a message and waits for the answer with the same id. */
  function ask(message: CallMessage): Promise<AnswerMessage> {
    if (isClosed) return Promise.reject(threadEnded())
    return new Promise((resolve, reject) => {
      const { id } = message
      waiting.set(id, {
        onAnswer(answer) {
          waiting.delete(id)
          resolve(answer)
        },
        onLost: () => reject(threadEnded()),
      })
      post(message)
    })
  }

  async function* readParts(id: number): JsonParts {
    let isComplete = false
    try {
      for (;;) {
        const answer = await ask({ kind: 'next', id })
        isComplete = answer.kind !== 'part'
        if (answer.kind === 'error') throw fromSentError(answer.error)
        if (answer.kind !== 'part') return
        yield answer.part
      }
    } finally {
      if (!isComplete && !isClosed) post({ kind: 'end', id })
    }
  }

  return {
    close,
    async call({ name, desc }, caller, envelope, request) {
      const id = ++lastId
      const call = { method: name, caller, envelope, request: wholeBuffer(toBinary(desc.input, request)) }
      const answer = await ask({ kind: 'call', id, call })
      if (answer.kind === 'error') throw fromSentError(answer.error)
      if (answer.kind === 'parts') return { ...unrendered, parts: () => readParts(id) }
      if (answer.kind !== 'reply') throw new Error(`a call was answered with ${answer.kind}`)
      return replyOf(answer.reply)
    },
  }
}

/** Posting a view copies its whole buffer, which may be larger. */
export const wholeBuffer = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice() // never shared memory

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
