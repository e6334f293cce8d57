// The groups that a provider's token names, in the claim that the provider is configured with.
import { maxGroupIdLength } from '../../../store/external-groups.ts'
import type { KnownProvider } from './known-providers.ts'

/** Bounds the work for one sign-in. Providers send at most a few hundred groups. */
const maxGroups = 2000

/** `ignored` is the number of entries that are not ids of groups, or exceed the maximum. */
export type ClaimedGroups = { groups: string[]; ignored: number }

/** The groups of a verified token. The claim is a list, or a text if a provider sends a single group so. */
export function groupsOf(
  { configuration: { groupsClaim } }: Pick<KnownProvider, 'configuration'>,
  claims: { readonly [name: string]: unknown },
): ClaimedGroups {
  const claim = groupsClaim === '' || !Object.hasOwn(claims, groupsClaim) ? [] : claims[groupsClaim]
  const entries: unknown[] = [claim].flat()
  const groups = entries.slice(0, maxGroups).filter(isGroupId)
  return { groups, ignored: entries.length - groups.length }
}

const groupIdPattern = new RegExp(`^\\P{C}{1,${maxGroupIdLength}}$`, 'u')

const isGroupId = (value: unknown): value is string => typeof value === 'string' && groupIdPattern.test(value)
