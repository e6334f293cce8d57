// The one-time link at which the first organization of an empty server is created.
import type { RandomBytes } from '../../../crypto/random.ts'
import type { Store } from '../../../store/db.ts'
import { sql } from '../../../store/sql.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import { paths } from '../paths.ts'

export const setUpLinkKind = 'SetUpLink'
const lifetimeSeconds = 24 * 60 * 60

type LinkDependencies = { store: Store; states: ExpiringStates; authUrl: string; random: RandomBytes }

/** Returns the URL of the link, or undefined if there is an organization already. */
export async function makeSetUpLink({
  store,
  states,
  authUrl,
  random,
}: LinkDependencies): Promise<string | undefined> {
  const [group] = await store.query(sql`select uid from groups limit 1`)
  if (group) return undefined
  const code = random(24).toString('base64url')
  await store.write(() => states.put(setUpLinkKind, code, {}, lifetimeSeconds))
  return `${authUrl}${paths.setUp}?code=${code}`
}
