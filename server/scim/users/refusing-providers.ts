import { issuerClockLag } from '../../auth/sign-outs.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'

/** `issuedAt` is the time of the token, in seconds since 1970. */
type TokenOfPerson = { externalId: string; identity: string; issuedAt: number }

/**
 * Returns those of the providers that refuse a token of a person. A provider refuses it if it has
 * deactivated the person, if it has signed them out since the token was issued, or if it provisions
 * people and has not provisioned this one. The same rules as `requireProvisioned` and
 * `requireIssuedAfterSignOut`, in one statement for any number of providers.
 */
export function* refusingProviders(
  providers: readonly string[],
  { externalId, identity, issuedAt }: TokenOfPerson,
): Work<string[]> {
  const rows = yield* all(sql`select p.uid, o.second,
    case when u.uid is null then coalesce(s.is_enabled, 0) else 1 - u.is_active end
    from identity_providers p left join scim_settings s on s.provider = p.uid
    left join scim_users u on u.provider = p.uid and u.external_id = ${externalId}
    left join provider_sign_outs o on o.identity = ${identity} and o.provider = p.uid
    where p.uid in ${among(providers)}`)
  // While the provider has deactivated the person, `second` is `endOfTime`.
  return (rows as [string, number | null, number][])
    .filter(([, second, isRefused]) => isRefused === 1 || (second ?? -1) >= issuedAt + issuerClockLag)
    .map(([uid]) => uid)
}
