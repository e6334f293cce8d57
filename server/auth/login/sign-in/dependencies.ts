import type { Provider } from 'oidc-provider'
import type { RandomBytes } from '../../../crypto/random.ts'
import type { Secret } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { Throttle } from '../../throttle.ts'
import type { Passwords } from '../passwords.ts'
import type { People, Profile } from '../people.ts'
import type { Upstream } from '../upstream/upstream.ts'

export type SignInDependencies = {
  provider(): Provider
  store: Store
  secret: Secret
  people: People
  upstream: Upstream
  passwords: Passwords
  throttles: SignInThrottles
  authUrl: string
  findPerson(identity: string): Promise<Profile | undefined>
  now(): number
  random: RandomBytes
  onSeen(identity: string): void
  onSignIn(event: SignInEvent): void
}

/**
 * Limits of failed attempts. The limits that depend on the IP address are lower than the limit of an account, so a
 * guesser is locked out before the account is.
 */
export type SignInThrottles = { perAddress: Throttle; perAccount: Throttle; perAccountAndAddress: Throttle }

/** `by` is the authentication method (RFC 8176); `reason` is set if the sign-in failed. */
export type SignInEvent = { identity?: string; by: string; address: string; reason?: string }
