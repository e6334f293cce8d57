// The credential that is presented in an exchange, read but not verified yet.
import type { Claims } from '../../claims/match.ts'
import { invalidForeign, readUnverified } from '../foreign-tokens/read.ts'
import type { AwsRequest } from './aws-request.ts'
import { readAwsRequest } from './aws-request.ts'

/** A JSON Web Token with its claims. Anyone may have written it. */
export type PresentedToken = { token: string; claims: Claims }

export type Credential = PresentedToken | { awsRequest: AwsRequest }

/** Throws the error for an invalid token if the bearer is neither a JSON Web Token nor a signed AWS request. */
export function readCredential(bearer: string): Credential {
  // A JSON Web Token contains dots. A signed AWS request does not, because it is encoded in base64url.
  if (bearer.includes('.')) return { token: bearer, claims: readUnverified(bearer) }
  const awsRequest = readAwsRequest(bearer)
  if (!awsRequest) throw invalidForeign('the token is neither a JSON Web Token nor a signed AWS request')
  return { awsRequest }
}
