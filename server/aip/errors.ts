// The errors that callers see (AIP-193). Anything else that is thrown is an internal error.
import { Code, codeName, codePrefix, httpStatus } from './code.ts'

/**
 * `field` is a path in proto spelling, relative to the resource if the request contains one. `mentions` lists the
 * fields that the description names, so that a door can convert their spelling as well.
 */
export type FieldViolation = { field: string; description: string; mentions?: readonly string[] }

/** A typed detail in its JSON form; `type` is the last segment of its type URL. */
export type Detail = { type: string; fields: Record<string, unknown> }

export class StatusError extends Error {
  readonly code: Code
  readonly details: Detail[]
  readonly violations: FieldViolation[]
  readonly metadata: Record<string, string>
  /** The HTTP status; usually that of the code. */
  readonly http: number
  readonly headers: Record<string, string>
  /** See `constant`. */
  readonly isConstant: boolean = false

  constructor(
    code: Code,
    text: string,
    options: Partial<Omit<StatusError, keyof Error | 'code' | 'isConstant'>> & ErrorOptions = {},
  ) {
    super(`${codePrefix(code)}: ${text}`, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'StatusError'
    this.code = code
    this.details = options.details ?? []
    this.violations = options.violations ?? []
    this.metadata = options.metadata ?? {}
    this.http = options.http ?? httpStatus(code)
    this.headers = options.headers ?? {}
  }
}

/**
 * Marks an error that is made once and thrown for many requests, because nothing in it depends on the request. Doors
 * render it once and cache the result. Making a stack trace and rendering are most of the cost of a refusal.
 */
export const constant = (error: StatusError): StatusError => Object.assign(error, { isConstant: true })

export type Status = { code: Code; message: string; details: Detail[] }

/**
 * The content of an error response. ErrorInfo is always the first detail; `spell` converts field paths to the spelling
 * of the caller.
 */
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
  const fieldViolations = error.violations.map(({ field, description, mentions = [] }) => ({
    field: spell(field),
    description: mentions.reduce((text, name) => text.replaceAll(name, spell(name)), description),
  }))
  const [shown] = fieldViolations
  return {
    code: error.code,
    message: `${codePrefix(error.code)}: ${shown?.field}: ${shown?.description}`,
    details: [...details, { type: 'BadRequest', fields: { fieldViolations } }],
  }
}

export function invalidArgument(...violations: [FieldViolation, ...FieldViolation[]]): StatusError {
  const [first] = violations
  return new StatusError(Code.INVALID_ARGUMENT, `${first.field}: ${first.description}`, { violations })
}

export const invalidField = (field: string, description: string, mentions: readonly string[] = []) =>
  invalidArgument({ field, description, mentions })

/** For a request that cannot be parsed, so that no field can be named. */
export const malformed = (text: string, http = 400) => new StatusError(Code.INVALID_ARGUMENT, text, { http })

/** RFC 9110 section 15.5.16: the response names the encodings that are accepted. */
export const unsupportedEncoding = (encoding: string) =>
  new StatusError(
    Code.INVALID_ARGUMENT,
    `the body must not be encoded; send it without Content-Encoding: ${printable(encoding)}`,
    { http: 415, headers: { 'accept-encoding': 'identity' } },
  )

/** gRPC defines this code for a call with more or fewer messages than its method takes. */
export const notOneMessage = () =>
  new StatusError(Code.UNIMPLEMENTED, 'the request must be exactly one message')

/** gRPC defines this code for a message that is compressed in an unknown way. */
export const unknownCompression = (encoding: string) =>
  new StatusError(Code.UNIMPLEMENTED, `messages must not be compressed with ${printable(encoding)}`)

export const tooLarge = (text: string, http: number) =>
  new StatusError(Code.RESOURCE_EXHAUSTED, text, { http })

/** `challenge` follows the realm in WWW-Authenticate (RFC 6750). */
export const unauthenticated = (text: string, challenge = '', cause?: Error) =>
  new StatusError(Code.UNAUTHENTICATED, text, { headers: { 'www-authenticate': challenge }, cause })

export function permissionDenied(permission: string, resource: string): StatusError {
  const target = resource === '' ? 'this server' : `resource ${resource} (or it might not exist)`
  return new StatusError(Code.PERMISSION_DENIED, `${permission} denied on ${target}`, {
    metadata: { permission, resource },
  })
}

/** Callers can grant only capabilities that they hold themselves. */
export const cannotDelegate = (permission: string, resource: string) =>
  new StatusError(
    Code.PERMISSION_DENIED,
    `only a caller who holds ${permission} on resource ${resource} can grant it there`,
    { metadata: { permission, resource, cause: 'NOT_HELD' } },
  )

/** An update of a role binding can take away only capabilities that the caller holds. */
export const cannotRevoke = (permission: string, resource: string) =>
  new StatusError(
    Code.PERMISSION_DENIED,
    `only a caller who holds ${permission} on resource ${resource} can take it away there by an update; those with role_bindings.delete can delete the role binding`,
    { metadata: { permission, resource, cause: 'NOT_HELD' } },
  )

/** For fields that can be changed only with `stemmad`. */
export function operatorOnly(field: string, resource: string): StatusError {
  return new StatusError(Code.PERMISSION_DENIED, `only the operator of this server can change ${field}`, {
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

/** The same error whether the organization does not exist, is not verified, or the e-mail address is not verified. */
export const noOrganization = () =>
  new StatusError(Code.NOT_FOUND, 'no verified organization is named after the domain of your e-mail address')

/** The same error whether the identity does not exist or the caller may not see it. */
export const noIdentity = () =>
  new StatusError(Code.NOT_FOUND, 'no identity that you may see has this issuer and subject')

export const noPackage = (name: string) =>
  new StatusError(
    Code.NOT_FOUND,
    `no versions of the package ${JSON.stringify(printable(name))} are known; the operator of this server can import them with stemmad import versions`,
  )

export const noImage = (digest: string) =>
  new StatusError(
    Code.NOT_FOUND,
    `the repo has no image ${digest}; push it, or use the digest of one that it has`,
  )

export const noImageFor = (architecture: string, digest: string, platforms: readonly string[]) =>
  new StatusError(
    Code.NOT_FOUND,
    `${digest} has no image for ${JSON.stringify(printable(architecture))}; its platforms are ${platforms.join(', ') || 'unknown'}`,
  )

export const noSbom = (digest: string) =>
  new StatusError(Code.NOT_FOUND, `the repo has no SBOM of ${digest}; attach one as a referrer`)

export const noScimToken = (provider: string) =>
  new StatusError(Code.NOT_FOUND, `identity provider ${provider} has no SCIM token; use GenerateScimToken`)

/** Text of the caller, shortened and safe to send back. */
const printable = (text: string) => text.slice(0, 200).toWellFormed()

const missingPath = constant(
  new StatusError(
    Code.NOT_FOUND,
    'no such path; /openapi.json lists the paths of this server, and docs/clients.md the calls of published clients that Stemma does not serve',
  ),
)
export const noSuchPath = () => missingPath

const missingMethod = constant(
  new StatusError(
    Code.UNIMPLEMENTED,
    'Stemma does not serve this method; docs/clients.md lists the services and methods that it serves',
  ),
)
/** For a gRPC service or method that the contract does not have. */
export const noSuchMethod = () => missingMethod

/** The value of an `Allow` header. Every path that accepts GET also accepts HEAD. */
export const allowHeader = (methods: readonly string[]) =>
  methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ')

export const methodNotAllowed = (allow: string) =>
  new StatusError(Code.UNIMPLEMENTED, `method not allowed; this path accepts ${allow}`, {
    http: 405,
    headers: { allow },
  })

export function failedPrecondition(type: string, description: string, http = 400): StatusError {
  return new StatusError(Code.FAILED_PRECONDITION, description, {
    http,
    details: [{ type: 'PreconditionFailure', fields: { violations: [{ type, description }] } }],
  })
}

/** The message of an error without the prefix of its code. */
export const textOf = ({ code, message }: StatusError) => message.slice(`${codePrefix(code)}: `.length)

/** The same error without details, for failed preconditions of v1. */
export const withoutDetails = (error: StatusError) =>
  new StatusError(error.code, textOf(error), { http: error.http, headers: error.headers })

/** A copy with further headers: the error itself may be thrown for other requests too. */
export const withHeaders = (error: StatusError, headers: Record<string, string>) =>
  new StatusError(error.code, textOf(error), {
    ...error,
    headers: { ...error.headers, ...headers },
    cause: error.cause,
  })

export const alreadyExists = (text: string) => new StatusError(Code.ALREADY_EXISTS, text)

/**
 * Thrown before the first reply of a call that would block the thread for long. Another thread then
 * performs the whole call.
 */
export class TooExpensive extends StatusError {
  constructor() {
    super(Code.RESOURCE_EXHAUSTED, 'the call would read too many resources; narrow it to fewer groups')
  }
}

/** `wait` is the number of seconds after which a retry may succeed, if it is known. */
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

const retryNames = ['retry-after', 'ratelimit-policy', 'ratelimit']

/** The headers of an error that say when to try again, if it has any. Sign-in and gRPC send them too. */
export const retryHeaders = ({ headers }: StatusError): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => retryNames.includes(name)))

/** For a rate limit that is reached. `subject` says whose limit it is, `description` what it is. */
export const rateLimited = ({
  text,
  subject,
  description,
  seconds,
  headers,
}: {
  text: string
  subject: string
  description: string
  /** After how many seconds a retry may succeed. */
  seconds: number
  headers: Record<string, string>
}) =>
  new StatusError(Code.RESOURCE_EXHAUSTED, text, {
    details: [
      { type: 'RetryInfo', fields: { retryDelay: `${seconds}s` } },
      { type: 'QuotaFailure', fields: { violations: [{ subject, description }] } },
    ],
    headers: { 'retry-after': String(seconds), ...headers },
  })

/** A limit of a group on the number of resources of a kind, and how many it has. */
export type ExceededQuota = { group: string; limit: number; used: number }

/** `quota` is undefined if the caller may not see the group that has the limit. */
export function quotaExceeded(kind: string, quota: ExceededQuota | undefined): StatusError {
  const resources = kind === 'registry_mebibytes' ? 'MiB of content in repos' : kind.replaceAll('_', ' ')
  const description = quota
    ? `group ${quota.group} may contain at most ${quota.limit} ${resources} and contains ${quota.used}; delete some of them, or have the limit raised`
    : `a limit on the number of ${resources} that applies here is reached; ask an owner of the organization`
  const violation = {
    ...{ description, quotaMetric: kind },
    ...(quota && {
      subject: `group:${quota.group}`,
      quotaId: 'resource_limits',
      quotaDimensions: { group: quota.group, used: String(quota.used) },
      // Left out if it is 0: a proto3 message does not encode 0, so gRPC could not send it either.
      ...(quota.limit > 0 && { quotaValue: String(quota.limit) }),
    }),
  }
  return new StatusError(Code.RESOURCE_EXHAUSTED, description, {
    details: [{ type: 'QuotaFailure', fields: { violations: [violation] } }],
  })
}

/** Whether an error says that a limit of a group is reached, and not that there were too many calls. */
export const isQuotaExceeded = (error: unknown): boolean =>
  error instanceof StatusError &&
  error.code === Code.RESOURCE_EXHAUSTED &&
  error.headers['retry-after'] === undefined &&
  error.details.some(({ type }) => type === 'QuotaFailure')

export const aborted = (text: string, http?: number) =>
  new StatusError(Code.ABORTED, text, http ? { http } : {})

/** Marks a response that was stored for an idempotency key, and is sent again. */
export const replayedHeader = 'idempotent-replayed'

/**
 * Not INVALID_ARGUMENT, because the same request is valid with another key. The status is that of
 * draft-ietf-httpapi-idempotency-key-header (Error Scenarios).
 */
export const keyReused = () =>
  failedPrecondition(
    'IDEMPOTENCY_KEY_REUSED',
    'another request was sent with this Idempotency-Key; send each new request with a new key',
    422,
  )

/** The status is that of draft-ietf-httpapi-idempotency-key-header (Error Scenarios). */
export const keyInUse = () =>
  new StatusError(
    Code.ABORTED,
    'the first request with this Idempotency-Key is still running; repeat the request later',
    {
      details: [{ type: 'RetryInfo', fields: { retryDelay: '1s' } }],
      headers: { 'retry-after': '1' },
    },
  )

export const cancelled = () => new StatusError(Code.CANCELLED, 'the client disconnected')

/** `advice` says how to make the call cheaper. */
export const deadlineExceeded = (advice?: string) =>
  new StatusError(Code.DEADLINE_EXCEEDED, `the call took too long${advice ? `; ${advice}` : ''}`)

export function unavailable(text: string, cause?: unknown): StatusError {
  return new StatusError(Code.UNAVAILABLE, text, {
    details: [{ type: 'RetryInfo', fields: { retryDelay: '1s' } }],
    headers: { 'retry-after': '1' },
    cause,
  })
}

/** An internal error. Callers do not see its cause. */
export const internal = (cause: unknown) =>
  new StatusError(Code.INTERNAL, 'something went wrong on our side', { cause })

export const asStatusError = (thrown: unknown) => (thrown instanceof StatusError ? thrown : internal(thrown))
