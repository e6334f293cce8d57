import { among, sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import type { Grant, ParseGrants } from './grants.ts'
import { aggregatedExternalGrants, aggregatedGrants, readGrantsOf } from './read-grants.ts'

/** An identity has up to 3000 grants, so a statement reads up to 150,000. */
const identitiesPerStatement = 50

/** Reads all grants of each of these identities, as `readGrantsOf` does. Identities that do not exist are left out. */
export function* readGrantsOfAll(
  identities: readonly string[],
  time: number,
  parse: ParseGrants,
): Work<Map<string, readonly Grant[]>> {
  const grants = new Map<string, readonly Grant[]>()
  for (let at = 0; at < identities.length; at += identitiesPerStatement) {
    const rows = yield selectAll(identities.slice(at, at + identitiesPerStatement), time)
    for (const [uid, suspended, own, external] of rows as StoredGrants[]) {
      const texts = [own, external].filter((text) => text !== null)
      // Few identities have suspended grants, and their grants are compared with the suspensions one by one.
      grants.set(uid, suspended ? yield* readGrantsOf(uid, time, undefined, parse) : texts.flatMap(parse))
    }
  }
  return grants
}

type StoredGrants = [uid: string, suspended: number | null, own: string | null, external: string | null]

const selectAll = (identities: readonly string[], time: number) =>
  sql`select i.uid, i.suspended, ${aggregatedGrants(undefined, time)},
    ${aggregatedExternalGrants(undefined, time, time)}
    from identities i where i.uid in ${among(identities)}`
