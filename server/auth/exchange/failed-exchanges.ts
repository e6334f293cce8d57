// Limits failed exchanges. The failures of one client must not block others that share its address or name the same
// identity. So a credential is verified first, and the limit applies only to exchanges that are refused.
import { digestOf } from '../../crypto/digest.ts'
import { networkOf } from '../../wire/client-network.ts'
import { readUnverified } from '../foreign-tokens/read.ts'
import { decodeToken } from '../refresh/token-format.ts'
import type { Throttle } from '../throttle.ts'
import { throttled } from '../throttle.ts'
import { accessKeyOf, readAwsRequest } from './aws-request.ts'

/** `identity` is the uid that the request names; empty if it names none. */
export type ExchangeAttempt = { address: string; bearer: string; identity: string }

type IsRefusal = Parameters<typeof throttled>[3]

/** Runs an exchange, and counts its refusal by network, issuer (or AWS access key) and identity. */
export async function throttledExchange<T>(
  throttle: Throttle,
  attempt: ExchangeAttempt,
  action: () => Promise<T>,
  isRefusal?: IsRefusal,
): Promise<T> {
  const accessKey = awsAccessKeyOf(attempt)
  // Only AWS can verify a signed request, so the limit is checked before the request is sent to AWS. Failures are
  // counted for each access key that signs requests, so one client does not block others.
  if (accessKey !== undefined) throttle.require(throttleKeyOf(attempt, accessKey))
  return throttled(throttle, () => throttleKeyOf(attempt, accessKey ?? issuerOf(attempt)), action, isRefusal)
}

/** A digest, since the parts may be long. `source` is the result of `awsAccessKeyOf` or `issuerOf`. */
const throttleKeyOf = ({ address, identity }: ExchangeAttempt, source: string) =>
  digestOf([networkOf(address), source, identity].join('\n'))

function awsAccessKeyOf({ bearer }: ExchangeAttempt): string | undefined {
  // A JSON Web Token contains dots. A signed AWS request does not, because it is encoded in base64url.
  const request = bearer.includes('.') ? undefined : readAwsRequest(bearer)
  return request && accessKeyOf(request)
}

/** The issuer of a token or the id of a refresh token, not verified; empty if the token cannot be read. */
function issuerOf({ bearer }: ExchangeAttempt): string {
  try {
    return decodeToken(bearer)?.id ?? readUnverified(bearer).iss
  } catch {
    return ''
  }
}
