// What went wrong with a call, as the server tells it (AIP-193) or as it looks from here.
import type { JsonObject } from '@bufbuild/protobuf'
import { Code } from '../gen/google/rpc/code_pb.ts'

export type FieldViolation = { field: string; description: string }
export type Precondition = { type: string; description: string }

export type ErrorFacts = {
  /** The HTTP status, where there was an answer. */
  status?: number | undefined
  requestId?: string | undefined
  /** In milliseconds: how long to wait before trying again. */
  retryDelay?: number | undefined
  details?: JsonObject[] | undefined
  cause?: unknown
}

export class StemmaError extends Error {
  override name = 'StemmaError'
  readonly code: Code
  readonly status: number | undefined
  /** The id under which the server has logged the call. */
  readonly requestId: string | undefined
  readonly retryDelay: number | undefined
  /** As they came. */
  readonly details: JsonObject[]

  constructor(code: Code, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.code = code
    this.status = facts.status
    this.requestId = facts.requestId
    this.retryDelay = facts.retryDelay
    this.details = facts.details ?? []
  }

  /** The name of the code, such as `NOT_FOUND`, or a finer reason of the server. */
  get reason(): string {
    const { reason } = detailOf(this.details, 'ErrorInfo')
    return typeof reason === 'string' ? reason : nameOf(this.code)
  }

  /** What varies in the message, by name. */
  get metadata(): Record<string, string> {
    return (detailOf(this.details, 'ErrorInfo').metadata ?? {}) as Record<string, string>
  }

  get fieldViolations(): FieldViolation[] {
    return listOf<FieldViolation>(detailOf(this.details, 'BadRequest').fieldViolations)
  }

  get preconditions(): Precondition[] {
    return listOf<Precondition>(detailOf(this.details, 'PreconditionFailure').violations)
  }
}

const nameOf = (code: Code) => Object.entries(Code).find(([, value]) => value === code)?.[0] ?? 'UNKNOWN'

const detailOf = (details: JsonObject[], type: string): JsonObject =>
  details.find((detail) => detail['@type'] === `type.googleapis.com/google.rpc.${type}`) ?? {}

/** Of the contract's shape if the server wrote it, and empty if it is no list at all. */
const listOf = <T>(value: unknown) => (Array.isArray(value) ? (value as T[]) : [])

/** Something that is wrong before anything is sent. */
export function invalidArgument(field: string, description: string): StemmaError {
  const violation = { field, description }
  return new StemmaError(Code.INVALID_ARGUMENT, `Invalid argument: ${field}: ${description}`, {
    details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }],
  })
}

/** An answer that is no success. Something between here and the server may have written it, in any form. */
export function errorOf(status: number, headers: Headers, text: string): StemmaError {
  const { code, message, details } = readObject(text) ?? {}
  const list = Array.isArray(details) ? details.filter(isObject) : []
  const delay = retryAfter(headers.get('retry-after')) ?? seconds(detailOf(list, 'RetryInfo').retryDelay)
  return new StemmaError(
    isCode(code) ? code : codeOf(status),
    typeof message === 'string' ? message : `the server answered with HTTP ${status}`,
    { status, requestId: headers.get('x-request-id') ?? undefined, retryDelay: delay, details: list },
  )
}

const isCode = (code: unknown): code is Code =>
  code !== Code.OK && Object.values<unknown>(Code).includes(code)

export function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Seconds, or a date (RFC 9110, section 10.2.3); in milliseconds from now. */
function retryAfter(value: string | null): number | undefined {
  if (value === null || value.trim() === '') return undefined
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

/** A duration as JSON has it. */
function seconds(value: unknown): number | undefined {
  const amount = typeof value === 'string' && value.endsWith('s') ? Number(value.slice(0, -1)) : Number.NaN
  return Number.isNaN(amount) ? undefined : Math.max(0, amount * 1000)
}

const codes: Record<number, Code> = {
  400: Code.INVALID_ARGUMENT,
  401: Code.UNAUTHENTICATED,
  403: Code.PERMISSION_DENIED,
  404: Code.NOT_FOUND,
  409: Code.ABORTED,
  429: Code.RESOURCE_EXHAUSTED,
  501: Code.UNIMPLEMENTED,
  502: Code.UNAVAILABLE,
  503: Code.UNAVAILABLE,
  504: Code.DEADLINE_EXCEEDED,
}

const codeOf = (status: number): Code => codes[status] ?? (status >= 500 ? Code.INTERNAL : Code.UNKNOWN)
