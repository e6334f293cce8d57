// Errors as sentences for people.
import { Code, StemmaError } from '@stemma/api/json'

export type ErrorText = {
  title: string
  text: string
  requestId?: string | undefined
  /** Whether the same call may succeed later. */
  mayRetry: boolean
}

const titles: Partial<Record<Code, string>> = {
  [Code.UNAUTHENTICATED]: 'Your session has ended',
  [Code.PERMISSION_DENIED]: 'Access denied',
  [Code.NOT_FOUND]: 'Not found',
  [Code.UNAVAILABLE]: 'The server does not answer',
  [Code.DEADLINE_EXCEEDED]: 'The server took too long',
  [Code.RESOURCE_EXHAUSTED]: 'Too many requests',
  [Code.ABORTED]: 'Changed by somebody else',
}

const retryable = new Set<Code>([
  ...[Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED],
  ...[Code.INTERNAL, Code.UNKNOWN, Code.UNAUTHENTICATED],
])

export function errorText(error: unknown): ErrorText {
  if (!(error instanceof StemmaError))
    return {
      title: 'Something went wrong',
      text: error instanceof Error ? error.message : String(error),
      mayRetry: true,
    }
  if (isSignInTooOld(error))
    return { title: 'Sign in again', text: 'This needs a recent sign-in.', mayRetry: true }
  const { code, requestId } = error
  if (isLimitReached(error))
    return { title: 'A limit is reached', text: sentenceOf(error), requestId, mayRetry: false }
  const mayRetry = retryable.has(code)
  return { title: titles[code] ?? 'This did not work', text: sentenceOf(error), requestId, mayRetry }
}

/** Whether a call was refused because the person signed in too long ago for it. */
export const isSignInTooOld = ({ preconditionViolations }: StemmaError) =>
  preconditionViolations.some(({ type }) => type === 'FRESH_SIGN_IN_REQUIRED')

/** Whether a limit of a group is reached. An error because of too many calls differs: it has a retry delay. */
const isLimitReached = ({ code, retryDelayMs, details }: StemmaError) =>
  code === Code.RESOURCE_EXHAUSTED &&
  retryDelayMs === undefined &&
  details.some((detail) => detail['@type'] === 'type.googleapis.com/google.rpc.QuotaFailure')

/** The message without the name of its code. If there were too many calls, also when to try again. */
function sentenceOf({ code, status, message, retryDelayMs }: StemmaError): string {
  if (code === Code.UNAVAILABLE && status === undefined)
    return 'Check the connection, or wait until the server is running again.'
  const text = message.replace(/^[A-Z][a-z ]+: /, '')
  const wait =
    code === Code.RESOURCE_EXHAUSTED && retryDelayMs
      ? `; try again in ${Math.ceil(retryDelayMs / 1000)} s`
      : ''
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${wait}`.replace(/([^.])$/, '$1.')
}

/**
 * Describes the fault of a field, for the text below it. `field` is the path of the field in the
 * request, such as `group.name`, or the end of that path, such as `name`. The fault of an element of a
 * list or map is a fault of the field. Names can be in snake_case or camelCase: the server uses
 * camelCase for fields of a JSON body, and snake_case for others.
 */
export function violationOf(error: unknown, field: string): string | undefined {
  if (!(error instanceof StemmaError)) return undefined
  const end = `.${camelCase(field)}`
  const violation = error.fieldViolations.find((entry) => {
    const path = `.${camelCase(entry.field)}`
    return path.endsWith(end) || path.includes(`${end}[`)
  })
  return violation && `${violation.description.slice(0, 1).toUpperCase()}${violation.description.slice(1)}.`
}

const camelCase = (path: string) => path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
