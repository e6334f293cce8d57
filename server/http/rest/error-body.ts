// The JSON of an error (docs/specification.md, Errors).
import type { StatusError } from '../../aip/errors.ts'
import { statusOf } from '../../aip/errors.ts'
import type { Json } from '../../wire/reply.ts'
import { asJson } from '../../wire/reply.ts'

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

export type RenderedError = { body: Json; headers: readonly string[] }

/** Renders the errors of the REST door. Constant errors (server/aip/errors.ts) are rendered only once. */
export function openErrorRenderer(domain: string, baseUrl: string) {
  const constants = new WeakMap<StatusError, RenderedError>()
  const render = (error: StatusError, spell?: (path: string) => string): RenderedError => ({
    body: asJson(errorBody(error, domain, spell)),
    headers: Object.entries(withRealm(error.headers, baseUrl)).flat(),
  })
  return (error: StatusError, spell?: (path: string) => string): RenderedError => {
    if (!error.isConstant) return render(error, spell)
    let rendered = constants.get(error)
    if (!rendered) {
      rendered = render(error)
      constants.set(error, rendered)
    }
    return rendered
  }
}

/** Completes the challenge of an unauthenticated call (RFC 6750 section 3). */
function withRealm(headers: Record<string, string>, baseUrl: string): Record<string, string> {
  const challenge = headers['www-authenticate']
  if (challenge === undefined) return headers
  const realm = `Bearer realm="${baseUrl}"`
  return { ...headers, 'www-authenticate': challenge === '' ? realm : `${realm}, ${challenge}` }
}
