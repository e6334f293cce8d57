// The token exchange: a client with a credential gets an access token of an identity that accepts
// it. The credential is a token of another issuer, an access token of this server, or a signed AWS
// request.
import { invalidField } from '../../aip/errors.ts'
import type { TokenLimits } from '../../wire/caller.ts'
import type { MintDependencies } from '../tokens/mint.ts'
import { issuableAudiences, mintToken } from '../tokens/mint.ts'
import { intersect } from '../tokens/token-limits.ts'
import type { Assume } from './assume.ts'
import type { RequestedIdentity } from './assumed-identity.ts'
import { readCredential } from './credential.ts'

export type ExchangeDependencies = MintDependencies & { baseUrl: string; assume: Assume }

export type ExchangeRequest = RequestedIdentity & {
  /** Audiences of the new token; if empty, the API. */
  audiences: readonly string[]
  limits: TokenLimits
}
/** `expiry` is in milliseconds since 1970. */
export type IssuedToken = { token: string; expiry: number }
export type Exchange = (bearer: string, request: ExchangeRequest) => Promise<IssuedToken>

export function openExchange(deps: ExchangeDependencies): Exchange {
  const { authUrl, baseUrl, assume } = deps
  const issuable = issuableAudiences(baseUrl, authUrl)
  return async (bearer, { audiences, limits: requestedLimits, ...requested }) => {
    const credential = readCredential(bearer)
    if (!audiences.every((audience) => issuable.includes(audience)))
      throw invalidField('aud', `must be one of ${issuable.join(', ')}`)
    const { identity, email, act, limits, signIn, expires } = await assume(credential, requested)
    const [audience = baseUrl, ...others] = audiences
    const token = await mintToken(deps, {
      ...{ identity, act, signIn, expires, limits: intersect(limits, requestedLimits) },
      audience: others.length > 0 ? [audience, ...others] : audience,
      ...(email && { email }),
    })
    return { token, expiry: expires * 1000 }
  }
}
