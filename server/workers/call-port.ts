// Sends messages to another thread, and finds the message that each answer belongs to.
import type { MessagePort, Worker } from 'node:worker_threads'
import { unavailable } from '../aip/errors.ts'
import type { AnswerMessage, CallMessage } from './call-messages.ts'
import { fromSentError } from './sent-error.ts'

export type CallPort = {
  /** Sends a message and waits for the answer with the same id. Rejects if the answer is an error. */
  ask(message: CallMessage): Promise<AnswerMessage>
  /** Sends a message that has no answer. Does nothing after `close`. */
  tell(message: CallMessage): void
  /** Whether no message waits for its answer. */
  isIdle(): boolean
  /** Rejects the messages that wait for an answer. */
  close(): void
}

export type ThreadPort = Pick<MessagePort, 'postMessage'> & Pick<MessagePort | Worker, 'on'>
type Waiting = { onAnswer(answer: AnswerMessage): void; onLost(): void }

export function openCallPort(port: ThreadPort): CallPort {
  const waiting = new Map<number, Waiting>()
  let isClosed = false

  // An answer that arrives after `close` is ignored.
  port.on('message', (answer: AnswerMessage) => waiting.get(answer.id)?.onAnswer(answer))

  return {
    ask(message) {
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
        port.postMessage(message)
      })
    },
    tell(message) {
      if (!isClosed) port.postMessage(message)
    },
    isIdle: () => waiting.size === 0,
    close() {
      isClosed = true
      for (const { onLost } of waiting.values()) onLost()
      waiting.clear()
    },
  }
}

/** The call may or may not have been performed. It was not acknowledged, so the caller decides whether to repeat it. */
const threadEnded = () => unavailable('the thread of the call has ended and is being replaced; try again')
