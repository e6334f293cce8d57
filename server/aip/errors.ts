// Everything a caller can be told has gone wrong (AIP-193). Whatever else is thrown is a fault of ours.
import { Code, codeName, codePrefix, httpStatus } from './code.ts'

/** `field` is a path in proto spelling, relative to the resource where the call takes one. */
export type FieldViolation = { field: string; description: string }

/** A typed detail in its JSON form; `type` is the last segment of its type URL. */
export type Detail = { type: string; fields: Record<string, unknown> }

export class StatusError extends Error {
  readonly code: Code
  readonly details: Detail[]
  readonly violations: FieldViolation[]
  readonly metadata: Record<string, string>
  /** Where HTTP wants another status than the code's own. */
  readonly http: number
  readonly headers: Record<string, string>

  constructor(
    code: Code,
    text: string,
    more: Partial<Omit<StatusError, keyof Error | 'code'>> & ErrorOptions = {},
  ) {
    super(`${codePrefix(code)}: ${text}`, more.cause === undefined ? {} : { cause: more.cause })
    this.name = 'StatusError'
    this.code = code
    this.details = more.details ?? []
    this.violations = more.violations ?? []
    this.metadata = more.metadata ?? {}
    this.http = more.http ?? httpStatus(code)
    this.headers = more.headers ?? {}
  }
}

export type Status = { code: Code; message: string; details: Detail[] }

/** What a door sends: ErrorInfo always, and field paths in the spelling of that door. */
export function statusOf(
  error: StatusError,
  domain: string,
  spell: (path: string) => string = (path) => path,
): Status {
  const info: Record<string, unknown> = { reason: codeName(error.code), domain }
  if (Object.keys(error.metadata).length > 0) info.metadata = error.metadata
  const details = [{ type: 'ErrorInfo', fields: info }, ...error.details]
  const [first] = error.violations
  if (!first) return { code: error.code, message: error.message, details }
  const fieldViolations = error.violations.map(({ field, description }) => ({
    field: spell(field),
    description,
  }))
  return {
    code: error.code,
    message: `${codePrefix(error.code)}: ${spell(first.field)}: ${first.description}`,
    details: [...details, { type: 'BadRequest', fields: { fieldViolations } }],
  }
}

export function invalidArgument(...violations: [FieldViolation, ...FieldViolation[]]): StatusError {
  const [first] = violations
  return new StatusError(Code.INVALID_ARGUMENT, `${first.field}: ${first.description}`, { violations })
}

export const invalidField = (field: string, description: string) => invalidArgument({ field, description })

/** A request that cannot be read at all, so that no field can be named. */
export const malformed = (text: string, http = 400) => new StatusError(Code.INVALID_ARGUMENT, text, { http })

export const tooLarge = (text: string, http: number) =>
  new StatusError(Code.RESOURCE_EXHAUSTED, text, { http })

/** `challenge` is what WWW-Authenticate says after the realm (RFC 6750). */
export const unauthenticated = (text: string, challenge = '', cause?: Error) =>
  new StatusError(Code.UNAUTHENTICATED, text, { headers: { 'www-authenticate': challenge }, cause })

export function permissionDenied(permission: string, resource: string): StatusError {
  const place = resource === '' ? 'this server' : `resource ${resource} (or it might not exist)`
  return new StatusError(Code.PERMISSION_DENIED, `${permission} denied on ${place}`, {
    metadata: { permission, resource },
  })
}

/** Nobody gives what they do not hold. */
export const cannotDelegate = (permission: string, resource: string) =>
  new StatusError(
    Code.PERMISSION_DENIED,
    `nobody can give ${permission} on resource ${resource} without holding it there`,
    { metadata: { permission, resource, cause: 'NOT_HELD' } },
  )

/** Fields that only `stemmad` changes. */
export function operatorOnly(field: string, resource: string): StatusError {
  return new StatusError(Code.PERMISSION_DENIED, `only the operator of this server changes ${field}`, {
    metadata: { permission: 'operator', field, resource },
  })
}

export function notFound(resourceType: string, resourceName: string): StatusError {
  return new StatusError(
    Code.NOT_FOUND,
    `no ${resourceType.split('.').at(-1)} with uid ${printable(resourceName)}`,
    {
      details: [{ type: 'ResourceInfo', fields: { resourceType, resourceName: printable(resourceName) } }],
    },
  )
}

/** One answer for everyone whose address leads to no organization, whatever the reason. */
export const noOrganization = () =>
  new StatusError(Code.NOT_FOUND, 'no verified organization is named after the domain of your e-mail address')

/** One answer, whether there is none or the caller may not see it. */
export const noIdentity = () =>
  new StatusError(Code.NOT_FOUND, 'no identity that you may see has this issuer and subject')

/** What a caller sent, shortened and made safe to send back. */
const printable = (text: string) => text.slice(0, 200).toWellFormed()

export const noSuchPath = () => new StatusError(Code.NOT_FOUND, 'no such path')

export const methodNotAllowed = (allow: string) =>
  new StatusError(Code.UNIMPLEMENTED, `method not allowed; this path takes ${allow}`, {
    http: 405,
    headers: { allow },
  })

export function failedPrecondition(type: string, description: string): StatusError {
  return new StatusError(Code.FAILED_PRECONDITION, description, {
    details: [{ type: 'PreconditionFailure', fields: { violations: [{ type, description }] } }],
  })
}

/** What an error says, without the words for its code. */
export const textOf = ({ code, message }: StatusError) => message.slice(`${codePrefix(code)}: `.length)

/** The same without its details, for callers of a version that had none. */
export const withoutDetails = (error: StatusError) =>
  new StatusError(error.code, textOf(error), { http: error.http, headers: error.headers })

export const alreadyExists = (text: string) => new StatusError(Code.ALREADY_EXISTS, text)

/** `wait` is after how many seconds it may be tried again, where that is known. */
export const tooManyRequests = (text: string, wait?: number) =>
  new StatusError(
    Code.RESOURCE_EXHAUSTED,
    text,
    wait === undefined
      ? {}
      : {
          details: [{ type: 'RetryInfo', fields: { retryDelay: `${wait}s` } }],
          headers: { 'retry-after': String(wait) },
        },
  )

export const aborted = (text: string, http?: number) =>
  new StatusError(Code.ABORTED, text, http ? { http } : {})

export const cancelled = () => new StatusError(Code.CANCELLED, 'the client went away')

export const deadlineExceeded = () => new StatusError(Code.DEADLINE_EXCEEDED, 'the call took too long')

export function unavailable(text: string, cause?: unknown): StatusError {
  return new StatusError(Code.UNAVAILABLE, text, {
    details: [{ type: 'RetryInfo', fields: { retryDelay: '1s' } }],
    headers: { 'retry-after': '1' },
    cause,
  })
}

/** What callers see of a fault of ours: nothing. */
export const internal = (cause: unknown) =>
  new StatusError(Code.INTERNAL, 'something went wrong on our side', { cause })

export const asStatusError = (thrown: unknown) => (thrown instanceof StatusError ? thrown : internal(thrown))
