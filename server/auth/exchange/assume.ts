// Assuming an identity with a credential that the identity accepts. The token exchange and the registry do this.
import type { RunMatch } from '../../claims/matcher.ts'
import { openMatcher } from '../../claims/matcher.ts'
import { assumeByAws } from './assume-by-aws.ts'
import { assumeByToken } from './assume-by-token.ts'
import type { AssumeDependencies, AssumedIdentity, RequestedIdentity } from './assumed-identity.ts'
import type { Credential } from './credential.ts'
import { openStaticKeys } from './static-keys.ts'

export type OpenAssumeDependencies = Omit<AssumeDependencies, 'ownAudiences' | 'matcher' | 'staticKeys'> & {
  baseUrl: string
  /** Matches costly patterns in another thread. */
  runMatch: RunMatch
  /** Counts an exchange. Throws if this identity or its organization has made too many. */
  admit(identity: string): void
  /** Called with the uid of every identity that was assumed. */
  recordLastSeen(identity: string): void
}

export type Assume = (credential: Credential, requested: RequestedIdentity) => Promise<AssumedIdentity>

export function openAssume(deps: OpenAssumeDependencies): Assume {
  const { authUrl, baseUrl, admit, recordLastSeen } = deps
  const ownAudiences = [...new Set([authUrl, baseUrl, new URL(authUrl).host])]
  const assumeDeps: AssumeDependencies = {
    ...deps,
    ownAudiences,
    matcher: openMatcher(deps.runMatch, ownAudiences),
    staticKeys: openStaticKeys(),
  }
  return async (credential, requested) => {
    const assumed = await ('token' in credential
      ? assumeByToken(assumeDeps, credential, requested)
      : assumeByAws(assumeDeps, credential.awsRequest, requested.identity))
    admit(assumed.identity)
    recordLastSeen(assumed.identity)
    return assumed
  }
}
