// The JSON of an error (docs/specification.md, Errors).
import type { StatusError } from '../../aip/errors.ts'
import { statusOf } from '../../aip/errors.ts'

const typePrefix = 'type.googleapis.com/google.rpc.'

/** `spell` spells the names of fields as the caller does; without it they are in proto spelling. */
export function errorBody(error: StatusError, domain: string, spell?: (path: string) => string): string {
  const { code, message, details } = statusOf(error, domain, spell)
  return JSON.stringify({
    code,
    message,
    details: details.map(({ type, fields }) => ({ '@type': typePrefix + type, ...fields })),
  })
}
