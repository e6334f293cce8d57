// Tokens of the registry. The token endpoint of the registry issues them, and only the registry accepts them: they have
// their own type and audience. They say who calls, and limit the caller to some actions in some repos. Like an access
// token, they grant nothing: the rights of the caller are read for each request.
import type { JWTPayload } from 'jose'
import type { Caller } from '../../wire/caller.ts'
import { anonymous } from '../../wire/caller.ts'
import type { RepoAccess } from '../../wire/repo-access.ts'
import { repoActions } from '../../wire/repo-access.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { invalidToken } from '../tokens/invalid-token.ts'
import type { MintDependencies } from '../tokens/mint.ts'
import { callerClaims, signToken } from '../tokens/mint.ts'
import type { VerifiedHeaders } from '../tokens/verified-headers.ts'
import { callerOf, openVerifiedHeaders } from '../tokens/verified-headers.ts'

export const registryTokenType = 'registry+jwt'

/** Differs from the audiences of access tokens (`issuableAudiences`). */
const audienceOf = (baseUrl: string) => `${baseUrl}/v2/`

export type RegistryTokenDependencies = MintDependencies & { baseUrl: string }

/** `expires` is in seconds since 1970. */
export type NewRegistryToken = { caller: Caller; access: readonly RepoAccess[]; expires: number }

export const mintRegistryToken = (
  deps: RegistryTokenDependencies,
  { caller, access, expires }: NewRegistryToken,
): Promise<string> =>
  signToken(deps, {
    ...{ type: registryTokenType, audience: audienceOf(deps.baseUrl), expires },
    ...(caller.identity !== '' && { subject: caller.identity }),
    // The form of the claim that other registries use.
    claims: {
      ...callerClaims(caller),
      access: access.map(({ name, actions }) => ({ type: 'repository', name, actions })),
    },
  })

export type RegistryToken = { caller: Caller; access: readonly RepoAccess[] }

export const openRegistryTokens = (
  keys: KeyRing,
  { authUrl, baseUrl }: { authUrl: string; baseUrl: string },
  now: () => number,
): VerifiedHeaders<RegistryToken> =>
  openVerifiedHeaders(
    keys,
    {
      parties: { issuer: authUrl, audience: audienceOf(baseUrl) },
      ...{ type: registryTokenType, requiredClaims: ['exp', 'iat', 'access'] },
      // Only a caller without credentials has no subject.
      read: (payload) => {
        const access = accessOf(payload)
        const caller = payload.sub === undefined ? anonymous : callerOf(payload)
        return { caller: { ...caller, repos: access }, access }
      },
    },
    now,
  )

function accessOf({ access }: JWTPayload): RepoAccess[] {
  if (!Array.isArray(access)) throw invalidToken('the claim access of the token must be a list')
  return access.map(({ name, actions }) => ({
    name: String(name),
    actions: repoActions.filter((action) => [actions].flat().includes(action)),
  }))
}
