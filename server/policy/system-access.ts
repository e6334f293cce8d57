// Proofs of authorization for writes that no caller requests. `restrictedFiles` in scripts/rooms.ts lists the rooms
// that may import them. Each proof has the origin that the event log shows.
import type { Origin, QuotaAccess, WriteAccess } from '../store/write-access.ts'
import type { Sources } from './origin.ts'
import { expiryOrigin, systemOrigin } from './origin.ts'

/**
 * For the commands of `stemmad`, which run with access to the store itself. `command` is the name
 * of the command, such as `stemmad keys rotate`; `sources` replace the clock and the source of
 * randomness.
 */
export const operatorAccessFor = (command: string, sources?: Sources): WriteAccess =>
  ({ origin: systemOrigin('operator', command, sources) }) as WriteAccess // a proof has no further content

/** The same for a program that is not a command, such as a test. */
export const operatorAccess = operatorAccessFor('stemmad')

/** For sign-in: it creates people, records when they were last seen, and accepts invites. */
export function signInAccess(
  defaultLimits: ReadonlyMap<string, number>,
  origin: Origin = systemOrigin('sign-in', 'sign-in'),
): WriteAccess {
  // Nobody has been authorized, so errors do not name groups.
  const quotas: QuotaAccess = { defaults: defaultLimits, mayNameInErrors: () => false }
  return { quotas, origin } as WriteAccess // a proof has no further content
}

/** For garbage collections, which remove unused content from repos. */
export const collectionAccess = { origin: systemOrigin('server', 'collection') } as WriteAccess // a proof has no further content

/** For the retention of repos: it deletes on behalf of those who set its rules, whose access was checked then. */
export const retentionAccess = { origin: systemOrigin('server', 'retention') } as WriteAccess // a proof has no further content

/** For the deletion of role bindings that have expired: their expiry was set by callers who were authorized. */
export const expiryAccess = { origin: expiryOrigin() } as WriteAccess // a proof has no further content

/** For deliveries, which disable subscriptions whose sink does not work. */
export const deliveryAccess = { origin: systemOrigin('server', 'delivery') } as WriteAccess // a proof has no further content

/** For the start of the server, which renders rows again and stores the built-in roles: upkeep, which is not recorded. */
export const startAccess = { origin: undefined } as WriteAccess // a proof has no further content
