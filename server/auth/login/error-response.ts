// Converts errors to pages.
import { errors } from 'oidc-provider'
import { Code } from '../../aip/code.ts'
import { malformed, retryHeaders, StatusError } from '../../aip/errors.ts'
import { errorPage } from '../../pages/error.ts'
import type { PageResponse } from './page-request.ts'

export const expiredSignIn = () =>
  new StatusError(
    Code.INVALID_ARGUMENT,
    'this sign-in has expired, or was begun in another browser; start again',
    { metadata: { cause: signInExpired } },
  )

export const isExpiredSignIn = ({ metadata }: StatusError) => metadata.cause === signInExpired

const signInExpired = 'SIGN_IN_EXPIRED'

/** The error that the client receives; undefined if something went wrong that the client must not see. */
export function clientErrorOf(error: unknown): StatusError | undefined {
  if (error instanceof StatusError) return error
  const isExposed = error instanceof errors.OIDCProviderError && error.expose
  return isExposed ? malformed(error.error_description ?? error.message) : undefined
}

/** The message of an error without the prefix for its code; a field error names its field in words. */
export function plainMessage({ message, violations: [violation] }: StatusError): string {
  if (!violation) return message.replace(/^[A-Z][a-z ]+: /, '')
  return `the ${violation.field.replaceAll('_', ' ')} ${violation.description}`
}

export const sentence = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`

export const errorResponse = (error: StatusError): PageResponse => ({
  page: errorPage(sentence(plainMessage(error))),
  status: error.http,
  headers: retryHeaders(error),
})
