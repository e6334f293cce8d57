// The error body (docs/specification.md, Errors).
import type { StatusError } from '../../aip/errors.ts'
import { statusOf } from '../../aip/errors.ts'
import { toCamel } from '../../aip/field-path.ts'

const typePrefix = 'type.googleapis.com/google.rpc.'

/** Fields of a body are named as JSON names them, query parameters as they are documented. */
export function errorBody(error: StatusError, domain: string, hasBody: boolean): string {
  const { code, message, details } = statusOf(error, domain, hasBody ? toCamel : undefined)
  return JSON.stringify({
    code,
    message,
    details: details.map(({ type, fields }) => ({ '@type': typePrefix + type, ...fields })),
  })
}
