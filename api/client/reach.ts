// What goes wrong on the way to a server and back, in words.
import { Code } from '../gen/google/rpc/code_pb.ts'
import { StemmaError } from './errors.ts'

/** Says what is wrong where the network is; what the signal says is said as it is. */
export async function reach<T>(base: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    signal.throwIfAborted()
    throw new StemmaError(Code.UNAVAILABLE, `Unavailable: ${base} cannot be reached: ${wordsOf(cause)}`, {
      cause,
    })
  }
}

type Failure = { message?: string; code?: string; cause?: unknown; errors?: unknown[] }

/** Node keeps the reason in the cause, and where a name has several addresses, one for each of them. */
function innermost(error: unknown): Failure {
  const failure = (error ?? {}) as Failure
  const inner = failure.cause ?? failure.errors?.[0]
  return inner === undefined ? failure : innermost(inner)
}

const wordsOf = (error: unknown) => innermost(error).message || innermost(error).code || String(error)

const refusals = [
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
]

/** Whether nothing was sent at all. Browsers do not tell. */
export const wasRefused = (error: StemmaError) =>
  error.status === undefined && refusals.includes(innermost(error).code ?? '')

export const tooLong = (timeout: number) =>
  new StemmaError(Code.DEADLINE_EXCEEDED, `Deadline exceeded: no answer within ${timeout} ms`)
