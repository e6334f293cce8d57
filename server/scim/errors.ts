// Errors of SCIM (RFC 7644 section 3.12).
import { StatusError, textOf } from '../aip/errors.ts'

export type ScimType =
  | ('invalidFilter' | 'tooMany' | 'uniqueness' | 'mutability' | 'invalidSyntax')
  | ('invalidPath' | 'noTarget' | 'invalidValue' | 'invalidVers' | 'sensitive')

export class ScimError extends Error {
  readonly status: number
  readonly scimType: ScimType | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, detail: string, scimType?: ScimType, headers: Record<string, string> = {}) {
    super(detail)
    this.name = 'ScimError'
    this.status = status
    this.scimType = scimType
    this.headers = headers
  }
}

export const badRequest = (scimType: ScimType, detail: string) => new ScimError(400, detail, scimType)
export const invalidValue = (detail: string) => badRequest('invalidValue', detail)
export const conflict = (detail: string) => new ScimError(409, detail, 'uniqueness')
export const noSuchResource = (type: string, id: string) =>
  new ScimError(404, `there is no ${type} ${JSON.stringify(shortened(id))}`)
export const noSuchEndpoint = () => new ScimError(404, 'there is no such SCIM endpoint')

/** Text of the client, shortened and safe to send back. */
export const shortened = (text: string) => text.slice(0, 100).toWellFormed()

/** Undefined if something went wrong that the client must not see. */
export function clientErrorOf(error: unknown): ScimError | undefined {
  if (error instanceof ScimError) return error
  if (error instanceof StatusError && error.http < 500)
    return new ScimError(error.http, textOf(error), undefined, error.headers)
  if (error instanceof StatusError && (error.http === 503 || error.http === 504))
    return new ScimError(error.http, textOf(error), undefined, error.headers)
  return undefined
}

export const errorBody = ({ status, scimType, message }: ScimError) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: String(status),
  ...(scimType && { scimType }),
  detail: message,
})
