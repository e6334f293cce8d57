// Requests that are refused whoever the caller is: requests with too many messages, and requests to a standard service
// of gRPC that are too large.
import type { Method } from '@stemma/api/method.ts'
import type { StatusError } from '../../aip/errors.ts'
import { notOneMessage, tooLarge } from '../../aip/errors.ts'
import { isReflection } from './standard-services.ts'

/** The maximum total size of the messages of a request to a standard service. These messages contain only names. */
const maxStandardBytes = 64 * 1024
const maxReflectionMessages = 1000

/** `method` is undefined for the standard services. */
export const maxMessagesOf = (method: Method | undefined, path: string) =>
  !method && isReflection(path) ? maxReflectionMessages : 1

export function requestFault(
  method: Method | undefined,
  bytes: number,
  messages: number,
  maxMessages: number,
): StatusError | undefined {
  // Checked as soon as a message begins: grpc-js would decompress all messages of a chunk before it refuses the second.
  if (messages > maxMessages)
    return maxMessages === 1
      ? notOneMessage()
      : tooLarge(`a call may send at most ${maxMessages} messages; start another call`, 413)
  if (!method && bytes > maxStandardBytes)
    return tooLarge(`the request of this service must be at most ${maxStandardBytes} bytes`, 413)
  return undefined
}
