// The people who have signed in through an identity provider.
import { removeMembersOf } from './external-groups.ts'
import { deleteSignInsThrough } from './sign-ins.ts'
import { sql } from './sql.ts'
import type { Work } from './work.ts'

/**
 * Separates people from a provider whose issuer changes, because the new issuer may give their ids to other people:
 * somebody could change the issuer, sign in as others, change it back and keep their roles. Sign-ins through the
 * provider end at `second` (seconds since 1970), SCIM users have no identity until the next sign-in,
 * and all lose the roles of external groups. A person who has neither a SCIM user nor a session nor
 * a refresh token is not found here: their access token stays valid until it expires, for an hour at
 * most.
 */
export function* separatePeople(provider: string, second: number): Work<void> {
  yield sql`insert into provider_sign_outs (identity, provider, second)
    select identity, provider, ${second} from (
      select identity, provider from scim_users where provider = ${provider} and identity is not null
      union select identity, provider from sign_in_states where provider = ${provider} and identity is not null
      union select identity, provider from refresh_tokens where provider = ${provider}) people where 1 = 1
    on conflict (identity, provider) do update set second = case
      when provider_sign_outs.second > excluded.second then provider_sign_outs.second else excluded.second end`
  yield* deleteSignInsThrough(provider)
  while (yield* removeMembersOf(provider));
  yield sql`update scim_users set identity = null where provider = ${provider} and identity is not null`
}
