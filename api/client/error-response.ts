// Converts HTTP responses to errors. A proxy may have written the response, so its body can have any form.
import { Code } from '../gen/google/rpc/code_pb.ts'
import { isObject, parseObject } from './json-object.ts'
import { findDetail, StemmaError } from './stemma-error.ts'

/**
 * Converts the response of a failed call to an error. `now` is the time in milliseconds since 1970.
 *
 * @example
 * ```ts
 * const response = await fetch('http://localhost:8080/iam/v2beta1/groups')
 * if (!response.ok) throw errorFromResponse(response, await response.text(), Date.now())
 * ```
 */
export function errorFromResponse(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  text: string,
  now: number,
): StemmaError {
  const { code, message, details, error, error_description } = parseObject(text) ?? {}
  const validDetails = Array.isArray(details) ? details.filter(isObject) : []
  return new StemmaError(
    isErrorCode(code) ? code : codeOfStatus(status),
    // Endpoints of OAuth have other fields (RFC 6749, section 5.2).
    [message, error_description, error].find((value) => typeof value === 'string') ??
      `the server answered with HTTP ${status}`,
    {
      status,
      requestId: headers.get('x-request-id') ?? undefined,
      retryDelayMs:
        parseRetryAfter(headers.get('retry-after'), now) ??
        parseDuration(findDetail(validDetails, 'RetryInfo').retryDelay),
      details: validDetails,
    },
  )
}

const isErrorCode = (code: unknown): code is Code =>
  code !== Code.OK && Object.values<unknown>(Code).includes(code)

/** Parses a number of seconds or a date (RFC 9110, section 10.2.3) to milliseconds from now. */
function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null || value.trim() === '') return undefined
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(delay) ? undefined : Math.max(0, delay)
}

/** Parses a protobuf duration in JSON, such as `1.5s`, to milliseconds. */
function parseDuration(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && value.endsWith('s') ? Number(value.slice(0, -1)) : Number.NaN
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds * 1000)
}

const codesByStatus: Record<number, Code> = {
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

const codeOfStatus = (status: number): Code =>
  codesByStatus[status] ?? (status >= 500 ? Code.INTERNAL : Code.UNKNOWN)
