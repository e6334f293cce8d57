import { StatusError, unauthenticated } from '../../aip/errors.ts'

/** The error for every invalid token. It does not say what is wrong; the cause is for the log. */
export const unverifiable = (cause: Error) =>
  unauthenticated('the token cannot be verified', 'error="invalid_token"', cause)

/** Rethrows a status error, and throws `unverifiable` for any other cause. */
export function throwUnverifiable(cause: unknown): never {
  if (cause instanceof StatusError) throw cause
  throw unverifiable(cause instanceof Error ? cause : new Error(String(cause)))
}
