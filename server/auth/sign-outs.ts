// Signing out everywhere. The store keeps the second of the last sign-out; every session, code and token of a
// sign-in in that second or before is invalid, including those that were being issued at that moment.
import { parentOf } from '../aip/uid.ts'
import type { Store } from '../store/db.ts'
import { endSignIn } from '../store/sign-ins.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { SignIn } from '../wire/caller.ts'

/** Ends every session, code and token of an identity, and the tokens that were issued in exchange for these. */
export function* signOutEverywhere(identity: string, now: number): Work<void> {
  yield sql`insert into sign_outs (identity, second) values (${identity}, ${secondOf(now)})
    on conflict (identity) do update set second =
      case when excluded.second > sign_outs.second then excluded.second else sign_outs.second + 1 end`
  yield sql`delete from sign_in_states where identity = ${identity}`
  yield sql`delete from refresh_tokens where identity = ${identity}`
}

/** Ends one sign-in with its codes, refresh tokens and access tokens. Its access tokens contain the id. */
export function* endOneSignIn(id: string, now: number): Work<void> {
  yield* endSignIn(id, now)
  yield sql`delete from sign_in_states where grant_id = ${id}`
  yield sql`delete from refresh_tokens where family = ${id}`
}

/** The second to record for a sign-in at this moment: later than the last sign-out, so that the sign-in is valid. */
export function* signInSecond(identity: string, now: number): Work<number> {
  const row = yield* first(sql`select second from sign_outs where identity = ${identity}`)
  return Math.max(secondOf(now), row ? (row[0] as number) + 1 : 0)
}

/** A sign-in at this moment. Only signing out everywhere ends it. Undefined for a workload: only people sign in. */
export async function signInNow(store: Store, identity: string, now: number): Promise<SignIn | undefined> {
  if (parentOf(identity) !== '') return undefined
  return { person: identity, second: await store.read(() => signInSecond(identity, now)), id: '' }
}

const secondOf = (time: number) => Math.floor(time / 1000)
