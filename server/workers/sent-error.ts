// An error of a call as a message between threads. Instances of a class lose their class when they are posted.
import type { FieldViolation } from '../aip/errors.ts'
import { asStatusError, StatusError, textOf } from '../aip/errors.ts'

export type SentError = Pick<StatusError, 'code' | 'details' | 'metadata' | 'http' | 'headers'> & {
  text: string
  violations: FieldViolation[]
  /** The stack of the cause, for the log. Callers never see it. */
  cause: string | undefined
}

export function toSentError(thrown: unknown): SentError {
  const error = asStatusError(thrown)
  const { code, details, violations, metadata, http, headers, cause } = error
  return { code, details, violations, metadata, http, headers, text: textOf(error), cause: stackOf(cause) }
}

function stackOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}

export function fromSentError({ code, text, cause, ...options }: SentError): StatusError {
  return new StatusError(code, text, { ...options, cause: cause === undefined ? undefined : asCause(cause) })
}

function asCause(stack: string): Error {
  const [message = ''] = stack.split('\n')
  return Object.assign(new Error(message), { stack })
}
