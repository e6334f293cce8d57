// The second factors of a person: passkeys, an authenticator app (TOTP), and recovery codes for when these are lost.
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'

export type SecondFactors = { passkeys: number; hasAuthenticatorApp: boolean; recoveryCodes: number }

export function* secondFactorsOf(identity: string): Work<SecondFactors> {
  const row = yield* first(sql`select
    (select count(*) from passkeys where identity = ${identity}),
    (select count(*) from authenticator_apps where identity = ${identity} and confirm_time is not null),
    (select count(*) from recovery_codes where identity = ${identity})`)
  const [passkeys = 0, apps = 0, recoveryCodes = 0] = (row ?? []).map(Number)
  return { passkeys, hasAuthenticatorApp: apps > 0, recoveryCodes }
}

/** Recovery codes alone are no second factor: they only replace one that is lost. */
export const hasSecondFactor = ({ passkeys, hasAuthenticatorApp }: SecondFactors) =>
  passkeys > 0 || hasAuthenticatorApp

export function* removeSecondFactors(identity: string): Work<void> {
  yield sql`delete from passkeys where identity = ${identity}`
  yield sql`delete from authenticator_apps where identity = ${identity}`
  yield sql`delete from recovery_codes where identity = ${identity}`
}
