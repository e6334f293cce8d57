// Proofs of authorization for writes that no caller requests. `restrictedFiles` in scripts/rooms.ts lists the rooms
// that may import them.
import type { QuotaAccess, WriteAccess } from '../store/write-access.ts'

/** For the commands of `stemmad`, which run with access to the store itself. */
export const operatorAccess = {} as WriteAccess // a proof has no content

/** For sign-in: it creates people, records when they were last seen, and accepts invites. */
export function signInAccess(defaultLimits: ReadonlyMap<string, number>): WriteAccess {
  // Nobody has been authorized, so errors do not name groups.
  const quotas: QuotaAccess = { defaults: defaultLimits, mayNameInErrors: () => false }
  return { quotas } as WriteAccess // a proof has no further content
}

/** For collections of garbage, which take unused content away from repos. */
export const collectionAccess = {} as WriteAccess // a proof has no content

/** For the retention of repos: it deletes on behalf of those who set its rules, whose access was checked then. */
export const retentionAccess = {} as WriteAccess // a proof has no content

/** For the start of the server, which renders rows again and stores the built-in roles. */
export const startAccess = {} as WriteAccess // a proof has no content
