// Limits failed exchanges. Many clients share an address, and anyone may name any identity, so failures of one
// client must not block another: a credential is verified first, and the limit applies only if the verification fails.
import { digestOf } from '../../crypto/digest.ts'
import { networkOf } from '../client-network.ts'
import { readUnverified } from '../foreign-tokens/read.ts'
import { decodeToken } from '../refresh/token-format.ts'
import type { Throttle } from '../throttle.ts'
import { throttled } from '../throttle.ts'
import { accessKeyOf, readAwsRequest } from './aws-request.ts'

/** `identity` is the uid that the request names; empty if it names none. */
export type Attempted = { address: string; bearer: string; identity: string }

type IsRefusal = Parameters<typeof throttled>[3]

/** Runs an exchange, and counts its refusal by network, issuer and identity. */
export async function throttledExchange<T>(
  throttle: Throttle,
  attempted: Attempted,
  action: () => Promise<T>,
  isRefusal?: IsRefusal,
): Promise<T> {
  const accessKey = awsKeyOf(attempted)
  // Only AWS can verify a signed request, so its limit is checked before it is sent to AWS. The limit's key contains
  // the access key that signed the request, so it belongs to a single client.
  if (accessKey !== undefined) throttle.require(keyOf(attempted, accessKey))
  return throttled(throttle, () => keyOf(attempted, accessKey ?? issuerOf(attempted)), action, isRefusal)
}

/** A digest, since the parts may be long. */
const keyOf = ({ address, identity }: Attempted, issuer: string) =>
  digestOf([networkOf(address), issuer, identity].join('\n'))

function awsKeyOf({ bearer }: Attempted): string | undefined {
  // Every JSON Web Token contains dots; base64url does not.
  const request = bearer.includes('.') ? undefined : readAwsRequest(bearer)
  return request && accessKeyOf(request)
}

/** Unverified: the issuer of a token, or the id of a refresh token. Empty if it cannot be read. */
function issuerOf({ bearer }: Attempted): string {
  try {
    return decodeToken(bearer)?.id ?? readUnverified(bearer).iss
  } catch {
    return ''
  }
}
