// Several organizations can configure the same issuer and client, because the id of a client is no secret. This file
// chooses the organization through whose provider a person signs in.
import { lineage, userUid } from '../../aip/uid.ts'
import { isLiveAt } from '../../store/expiry.ts'
import { principalsOf } from '../../store/external-groups.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import type { People, ProvidedPerson } from './people.ts'

export const uidOf = ({ person }: Pick<ProvidedPerson, 'person'>) => userUid(person.issuer, person.subject)

/**
 * Each candidate is a provider with the person whom the token names: the settings of the provider
 * determine which claim identifies people. A provider that verifies the address of the person is
 * preferred, then one whose organization the person belongs to, then the first of the list.
 * Providers that refuse the person are left out: otherwise an organization could keep the people of
 * another one out by configuring the same client. If all refuse, the result is the preferred one,
 * and signing in there fails with its reason. `issuedAt` is the time of the token in seconds since
 * 1970, `time` the current time in milliseconds.
 */
export function* chooseProvider(
  people: Pick<People, 'refusingProviders'>,
  candidates: readonly ProvidedPerson[],
  { issuedAt, time }: { issuedAt: number; time: number },
): Work<ProvidedPerson | undefined> {
  if (candidates.length < 2) return candidates[0]
  const organizations = new Map<string, Set<unknown>>()
  const refusing = new Set<string>()
  // At most two uids: providers identify people by their subject or by their `oid`.
  for (const [uid, some] of Map.groupBy(candidates, uidOf)) {
    const rows = yield* all(
      sql`select distinct root from role_bindings where identity in ${principalsOf([uid], time)}
        and ${isLiveAt(time)}`,
    )
    organizations.set(uid, new Set(rows.map(([root]) => root)))
    for (const provider of yield* people.refusingProviders(some, issuedAt)) refusing.add(provider)
  }
  const rankOf = (candidate: ProvidedPerson) => {
    if (candidate.person.email !== undefined) return 0
    return organizations.get(uidOf(candidate))?.has(lineage(candidate.provider)[0]) ? 1 : 2
  }
  const ranked = candidates.toSorted((a, b) => rankOf(a) - rankOf(b))
  return ranked.find(({ provider }) => !refusing.has(provider)) ?? ranked[0]
}
