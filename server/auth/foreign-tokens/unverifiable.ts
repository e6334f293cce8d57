import { StatusError, unauthenticated } from '../../aip/errors.ts'

/** The same error whatever is wrong with a token; the cause is for the log. */
export const unverifiable = (cause: Error) =>
  unauthenticated('the token cannot be verified', 'error="invalid_token"', cause)

/** Rethrows a status error, and throws `unverifiable` for any other cause. */
export function throwUnverifiable(cause: unknown): never {
  if (cause instanceof StatusError) throw cause
  throw unverifiable(cause instanceof Error ? cause : new Error(String(cause)))
}
