// Everything that authenticates clients of the registry.
import type { Assume } from '../exchange/assume.ts'
import { openAccessTokens, openRegistryAuthenticator } from './authenticate.ts'
import { openIdentityPasswords } from './identity-passwords.ts'
import { openRegistryTokens } from './registry-token.ts'
import type { TokenServiceDependencies } from './token-service.ts'
import { registryTokenService } from './token-service.ts'

export type HeldAccess = TokenServiceDependencies['heldAccess']

export type RegistryAuthenticationDependencies = Omit<
  TokenServiceDependencies,
  'accessTokens' | 'passwords'
> & { assume: Assume }

export function openRegistryAuthentication(deps: RegistryAuthenticationDependencies) {
  const { keys, now, allowsAnonymous } = deps
  const credentials = {
    accessTokens: openAccessTokens(keys, deps, now),
    passwords: openIdentityPasswords(deps),
  }
  const registryTokens = openRegistryTokens(keys, deps, now)
  return {
    authenticate: openRegistryAuthenticator({ ...credentials, registryTokens, allowsAnonymous }),
    tokens: registryTokenService({ ...deps, ...credentials }),
  }
}
