import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'

/**
 * A field of the request with an invalid value. `field` is its path in the request, such as `group.name`.
 *
 * @example
 * ```ts
 * import type { FieldViolation } from '@stemma/api'
 *
 * const violation: FieldViolation = { field: 'name', description: 'must be at most 255 characters' }
 * ```
 */
export type FieldViolation = { field: string; description: string }

/**
 * A condition that the state of the server does not meet. `type` is for programs, `description` for people.
 *
 * @example
 * ```ts
 * import type { PreconditionViolation } from '@stemma/api'
 *
 * const violation: PreconditionViolation = {
 *   type: 'RESOURCE_NOT_EMPTY',
 *   description: 'cannot delete group with child repos',
 * }
 * ```
 */
export type PreconditionViolation = { type: string; description: string }

/**
 * The optional properties of a `StemmaError`.
 *
 * @example
 * ```ts
 * import { Code } from '@stemma/api'
 *
 * const properties: StemmaErrorProperties = { status: 503, retryDelayMs: 2_000 }
 * const error = new StemmaError(Code.UNAVAILABLE, 'Unavailable: try again later', properties)
 * ```
 */
export type StemmaErrorProperties = {
  status?: number | undefined
  requestId?: string | undefined
  retryDelayMs?: number | undefined
  details?: JsonObject[] | undefined
  cause?: unknown
}

/**
 * A failed call: an error of the server (AIP-193), of the network, or of a request that cannot be sent.
 *
 * @example
 * ```ts
 * import { Code, createClient, StemmaError } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const groups = createClient(GroupsService, { baseUrl: 'http://localhost:8080', token: 'an access token' })
 * try {
 *   await groups.createGroup({ group: { name: 'No Capitals' } })
 * } catch (error) {
 *   if (!(error instanceof StemmaError) || error.code !== Code.INVALID_ARGUMENT) throw error
 *   for (const { field, description } of error.fieldViolations) console.error(field, description)
 *   console.error('request id for the operator:', error.requestId)
 * }
 * ```
 */
export class StemmaError extends Error {
  override name = 'StemmaError'
  readonly code: Code
  /** HTTP status of the response. Undefined if there was no response. */
  readonly status: number | undefined
  /** The id under which the server has logged the call. */
  readonly requestId: string | undefined
  /** How long the server asks to wait before the next attempt, in milliseconds. */
  readonly retryDelayMs: number | undefined
  /** The error details as the server sent them, each with its `@type`. */
  readonly details: JsonObject[]

  constructor(code: Code, message: string, properties: StemmaErrorProperties = {}) {
    super(message, properties.cause === undefined ? {} : { cause: properties.cause })
    this.code = code
    this.status = properties.status
    this.requestId = properties.requestId
    this.retryDelayMs = properties.retryDelayMs
    this.details = properties.details ?? []
  }

  /** The machine-readable reason that the server sent; if it sent none, the name of the code, such as `NOT_FOUND`. */
  get reason(): string {
    const { reason } = findDetail(this.details, 'ErrorInfo')
    return typeof reason === 'string' ? reason : nameOf(this.code)
  }

  /** The variable parts of the message by name, such as `permission` and `resource`. */
  get metadata(): Record<string, string> {
    return (findDetail(this.details, 'ErrorInfo').metadata ?? {}) as Record<string, string>
  }

  get fieldViolations(): FieldViolation[] {
    return arrayOf<FieldViolation>(findDetail(this.details, 'BadRequest').fieldViolations)
  }

  get preconditionViolations(): PreconditionViolation[] {
    return arrayOf<PreconditionViolation>(findDetail(this.details, 'PreconditionFailure').violations)
  }
}

const nameOf = (code: Code) => Object.entries(Code).find(([, value]) => value === code)?.[0] ?? 'UNKNOWN'

/** Ignores a value that is not an array, which a proxy may have sent. The contract defines the type of the elements. */
const arrayOf = <T>(value: unknown) => (Array.isArray(value) ? (value as T[]) : [])

/**
 * Returns the first error detail with a type such as `RetryInfo` (of the package `google.rpc`), or an empty object if
 * there is none.
 *
 * @example
 * ```ts
 * const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' }]
 * findDetail(details, 'RetryInfo').retryDelay // '1s'
 * ```
 */
export const findDetail = (details: JsonObject[], type: string): JsonObject =>
  details.find((detail) => detail['@type'] === `type.googleapis.com/google.rpc.${type}`) ?? {}

/**
 * Creates the error for a request that cannot be sent because of the value of a field.
 *
 * @example
 * ```ts
 * invalidArgument('uid', 'must not contain the segment ".."').code // Code.INVALID_ARGUMENT
 * ```
 */
export function invalidArgument(field: string, description: string): StemmaError {
  const violation = { field, description }
  return new StemmaError(Code.INVALID_ARGUMENT, `Invalid argument: ${field}: ${description}`, {
    details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }],
  })
}
