// The JSON of an error (docs/specification.md, Errors).
import type { StatusError } from '../../aip/errors.ts'
import { statusOf } from '../../aip/errors.ts'
import { toCamel } from '../../aip/field-path.ts'

const typePrefix = 'type.googleapis.com/google.rpc.'

/** Spells field paths in camelCase if the call takes a body (`hasBody`), otherwise in snake_case. */
export function errorBody(error: StatusError, domain: string, hasBody: boolean): string {
  const { code, message, details } = statusOf(error, domain, hasBody ? toCamel : undefined)
  return JSON.stringify({
    code,
    message,
    details: details.map(({ type, fields }) => ({ '@type': typePrefix + type, ...fields })),
  })
}
