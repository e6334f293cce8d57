import type { Provider } from 'oidc-provider'
import type { RandomBytes } from '../../../crypto/random.ts'
import type { Sealer, Secret } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import type { PageLog } from '../page-log.ts'
import type { UsePasswords } from '../passwords.ts'
import type { People, Profile } from '../people.ts'
import type { SignInThrottles } from '../sign-in-throttles.ts'
import type { Upstream } from '../upstream/upstream.ts'

export type SignInDependencies = {
  provider(): Provider
  store: Store
  secret: Secret
  /** Encrypts the state of sign-ins under way. */
  sealer: Sealer
  states: ExpiringStates
  people: People
  upstream: Upstream
  usePasswords: UsePasswords
  throttles: SignInThrottles
  pageLog: PageLog
  authUrl: string
  baseUrl: string
  findPerson(identity: string): Promise<Profile | undefined>
  now(): number
  random: RandomBytes
  recordLastSeen(identity: string): void
  onSignInResult(event: SignInEvent): void
  /** Called if the token of a provider names groups that cannot be used. `provider` is its uid. */
  onIgnoredGroups(event: { provider: string; count: number }): void
}

/**
 * `by` is the authentication method: one of RFC 8176, or `fed` (an identity provider), `session` (a
 * continued session) or `recovery` (a recovery code). `reason` is set if the sign-in failed.
 */
export type SignInEvent = { identity?: string; by: string; address: string; reason?: string }
