// The SCIM settings of identity providers: whether provisioning is on, and the digests of its tokens.
import { sql } from './sql.ts'
import type { Work } from './work.ts'
import { first } from './work.ts'

/** Times are in milliseconds since 1970. */
export type ScimSettings = {
  isEnabled: boolean
  /** Increases with every change. 0 if nothing is stored. */
  version: number
  /** Null before the first token. */
  tokenDigest: string | null
  /** Null if the token does not expire. */
  tokenExpireTime: number | null
  /** Null if there is no previous token. */
  previousDigest: string | null
  previousExpireTime: number | null
  /** Null unless the token was revoked. */
  revokeTime: number | null
}

export const initialScimSettings: ScimSettings = {
  ...{ isEnabled: false, version: 0, tokenDigest: null, tokenExpireTime: null },
  ...{ previousDigest: null, previousExpireTime: null, revokeTime: null },
}

type Columns = [
  isEnabled: number,
  version: number,
  tokenDigest: string | null,
  tokenExpireTime: number | null,
  previousDigest: string | null,
  previousExpireTime: number | null,
  revokeTime: number | null,
]

/** Undefined if nothing is stored. */
export function* readScimSettings(provider: string): Work<ScimSettings | undefined> {
  const row = yield* first(sql`select is_enabled, version, token_digest, token_expire_time, previous_digest,
    previous_expire_time, revoke_time from scim_settings where provider = ${provider}`)
  return row && settingsOf(row as Columns)
}

/** Like `readScimSettings`. No other transaction changes the settings before this one ends. */
export function* lockScimSettings(provider: string): Work<ScimSettings | undefined> {
  const row = yield* first(sql`select is_enabled, version, token_digest, token_expire_time, previous_digest,
    previous_expire_time, revoke_time from scim_settings where provider = ${provider} /*pg for update */`)
  return row && settingsOf(row as Columns)
}

const settingsOf = (row: Columns): ScimSettings => {
  const [isEnabled, version, tokenDigest, tokenExpireTime, previousDigest, previousExpireTime, revokeTime] =
    row
  return {
    ...{ isEnabled: isEnabled !== 0, version, tokenDigest, tokenExpireTime },
    ...{ previousDigest, previousExpireTime, revokeTime },
  }
}

export function* writeScimSettings(provider: string, settings: ScimSettings): Work<void> {
  const { isEnabled, version, tokenDigest, tokenExpireTime } = settings
  const { previousDigest, previousExpireTime, revokeTime } = settings
  yield sql`insert into scim_settings (provider, is_enabled, version, token_digest, token_expire_time, previous_digest,
      previous_expire_time, revoke_time)
    values (${provider}, ${isEnabled ? 1 : 0}, ${version}, ${tokenDigest}, ${tokenExpireTime}, ${previousDigest},
      ${previousExpireTime}, ${revokeTime})
    on conflict (provider) do update set is_enabled = excluded.is_enabled, version = excluded.version,
      token_digest = excluded.token_digest, token_expire_time = excluded.token_expire_time,
      previous_digest = excluded.previous_digest, previous_expire_time = excluded.previous_expire_time,
      revoke_time = excluded.revoke_time`
}
