// The arguments of the functions of the account service: a call, and the dependencies. The type `D`
// of a demand is a parameter, because this room must not import the policy: only `admit` uses
// demands, and authentication.ts provides it.
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'
import type { Store } from '../../store/db.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import type { Caller } from '../../wire/caller.ts'
import type { ExpiringStates } from '../login/expiring-states.ts'
import type { UsePasswords } from '../login/passwords.ts'
import type { SignInThrottles } from '../login/sign-in-throttles.ts'
import type { RelyingParty } from '../second-factors/webauthn.ts'

export type AccountCall<D, R = unknown> = { request: R; demand: D; address: string; deadline: number }

export type AccountAccess = WriteAccess & { readonly caller: Caller }

/** `freshSignIn`: the person must have signed in a short time ago. */
export type AdmitOptions = { freshSignIn: boolean }

export type AccountDependencies<D> = {
  store: Store
  secret: Secret
  states: ExpiringStates
  usePasswords: UsePasswords
  throttles: SignInThrottles
  party: RelyingParty
  now(): number
  random: RandomBytes
  /** Refuses workloads, limited tokens, and tokens whose sign-in has ended. */
  admit(demand: D, options: AdmitOptions): Work<AccountAccess>
  rename(access: WriteAccess, identity: string, name: string): Work<void>
}
