// Requires a recent sign-in for the changes that would help an attacker with a stolen session most.
import { failedPrecondition } from '../aip/errors.ts'
import type { Caller } from '../wire/caller.ts'

/** Undefined `signIn`: the caller is a workload, which does not sign in. */
export function requireFreshSignIn({ signIn }: Caller, maxAgeMs: number, now: number): void {
  if (!signIn || now - signIn.signedInAt * 1000 <= maxAgeMs) return
  throw failedPrecondition(
    'FRESH_SIGN_IN_REQUIRED',
    `this needs a sign-in within the last ${Math.round(maxAgeMs / 60_000)} minutes; sign in again (stemma auth login --again) and repeat the call`,
  )
}
