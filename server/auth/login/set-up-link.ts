// The link that sets up an empty server.
import { randomBytes } from 'node:crypto'
import type { Store } from '../../store/db.ts'
import { sql } from '../../store/sql.ts'
import { paths } from './paths.ts'
import type { States } from './states.ts'

/** What it is remembered as. */
export const setUpLink = 'SetUpLink'
const seconds = 24 * 60 * 60

/** The address at which the first organization is made; undefined where there is one already. */
export async function makeSetUpLink(
  store: Store,
  states: States,
  authUrl: string,
): Promise<string | undefined> {
  const [group] = await store.query(sql`select uid from groups limit 1`)
  if (group) return undefined
  const code = randomBytes(24).toString('base64url')
  await store.write(() => states.put(setUpLink, code, {}, seconds))
  return `${authUrl}${paths.setUp}?code=${code}`
}
