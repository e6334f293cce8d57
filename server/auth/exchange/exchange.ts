// The token exchange: issues an access token of an identity to a client whose credential that identity accepts. The
// credential is a token of another issuer, an access token of this server, or a signed AWS request.
import { invalidField } from '../../aip/errors.ts'
import type { RunMatch } from '../../claims/matcher.ts'
import { openMatcher } from '../../claims/matcher.ts'
import type { TokenLimits } from '../../wire/caller.ts'
import type { MintDependencies } from '../tokens/mint.ts'
import { issuableAudiences, mintToken } from '../tokens/mint.ts'
import { intersect } from '../tokens/token-limits.ts'
import { assumeByAws } from './assume-by-aws.ts'
import { assumeByToken } from './assume-by-token.ts'
import type { AssumeDependencies, RequestedIdentity } from './assumed-identity.ts'
import { readCredential } from './credential.ts'
import { openStaticKeys } from './static-keys.ts'

export type ExchangeDependencies = MintDependencies &
  Omit<AssumeDependencies, 'ownAudiences' | 'matcher' | 'staticKeys'> & {
    baseUrl: string
    /** Matches costly patterns in a worker thread. */
    runMatch: RunMatch
    /** Counts an exchange. Throws if this identity or its organization has made too many. */
    admit(identity: string): void
    /** Called with the uid of every identity that was assumed. */
    recordLastSeen(identity: string): void
  }

export type ExchangeRequest = RequestedIdentity & {
  /** Audiences of the new token; if empty, the API. */
  audiences: readonly string[]
  limits: TokenLimits
}
/** `expiry` is in milliseconds since 1970. */
export type IssuedToken = { token: string; expiry: number }
export type Exchange = (bearer: string, request: ExchangeRequest) => Promise<IssuedToken>

export function openExchange(deps: ExchangeDependencies): Exchange {
  const { authUrl, baseUrl, admit, recordLastSeen } = deps
  const issuable = issuableAudiences(baseUrl, authUrl)
  const ownAudiences = [...new Set([authUrl, baseUrl, new URL(authUrl).host])]
  const assumeDeps: AssumeDependencies = {
    ...deps,
    ownAudiences,
    matcher: openMatcher(deps.runMatch, ownAudiences),
    staticKeys: openStaticKeys(),
  }
  return async (bearer, { audiences, limits: requestedLimits, ...requested }) => {
    const credential = readCredential(bearer)
    if (!audiences.every((audience) => issuable.includes(audience)))
      throw invalidField('aud', `must be one of ${issuable.join(', ')}`)
    const { identity, email, act, limits, signIn, expires } = await ('token' in credential
      ? assumeByToken(assumeDeps, credential, requested)
      : assumeByAws(assumeDeps, credential.awsRequest, requested.identity))
    admit(identity)
    const [audience = baseUrl, ...others] = audiences
    const token = await mintToken(deps, {
      ...{ identity, act, signIn, expires, limits: intersect(limits, requestedLimits) },
      audience: others.length > 0 ? [audience, ...others] : audience,
      ...(email && { email }),
    })
    recordLastSeen(identity)
    return { token, expiry: expires * 1000 }
  }
}
