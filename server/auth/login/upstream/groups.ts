// The groups in a provider's token, read from the claim that is configured for this provider.
import { maxGroupIdLength } from '../../../store/external-groups.ts'
import type { KnownProvider } from './known-providers.ts'

/** Bounds the work for one sign-in. Providers send at most a few hundred groups. */
const maxGroups = 2000

/** `ignored` counts entries that are not group ids or exceed `maxGroups`; 1 if the token only refers to the claim. */
export type ClaimedGroups = { groups: string[]; ignored: number }

/** The groups of a verified token. The claim is a list, but some providers send a single group as a string. */
export function groupsOf(
  { configuration: { groupsClaim } }: Pick<KnownProvider, 'configuration'>,
  claims: { readonly [name: string]: unknown },
): ClaimedGroups {
  if (groupsClaim === '') return { groups: [], ignored: 0 }
  if (!Object.hasOwn(claims, groupsClaim))
    return { groups: [], ignored: isDistributed(claims, groupsClaim) ? 1 : 0 }
  const entries: unknown[] = [claims[groupsClaim]].flat()
  const groups = entries.slice(0, maxGroups).filter(isGroupId)
  return { groups, ignored: entries.length - groups.length }
}

/**
 * Whether the token has only a reference to the claim (OpenID Connect Core, 5.6.2). Entra sends this for people with
 * more than 200 groups. The reference is not followed, so the log should show it.
 */
function isDistributed(
  { _claim_names: names }: { readonly [name: string]: unknown },
  claim: string,
): boolean {
  return typeof names === 'object' && names !== null && Object.hasOwn(names, claim)
}

const groupIdPattern = new RegExp(`^\\P{C}{1,${maxGroupIdLength}}$`, 'u')

const isGroupId = (value: unknown): value is string => typeof value === 'string' && groupIdPattern.test(value)
