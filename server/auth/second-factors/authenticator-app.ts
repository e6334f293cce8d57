// The authenticator app of a person. Each code works once.
import { failedPrecondition, invalidField } from '../../aip/errors.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { hasSecondFactor, secondFactorsOf } from './second-factors.ts'
import { matchingStep, totpSecretSize } from './totp.ts'

export type AuthenticatorAppDependencies = { secret: Secret; now(): number; random: RandomBytes }

const purposeOf = (identity: string) => `authenticator app of ${identity}`

/** Makes the secret of a new, unconfirmed app. It replaces that of an earlier unconfirmed app. */
export function* beginAuthenticatorApp(
  { secret, now, random }: AuthenticatorAppDependencies,
  identity: string,
): Work<Buffer> {
  const key = random(totpSecretSize)
  const sealed = secret.seal(purposeOf(identity), key)
  const [row] = yield sql`insert into authenticator_apps (identity, sealed, last_step, create_time)
    values (${identity}, ${sealed}, 0, ${now()})
    on conflict (identity) do update set sealed = excluded.sealed, create_time = excluded.create_time
    where authenticator_apps.confirm_time is null returning identity`
  if (!row)
    throw failedPrecondition(
      'AUTHENTICATOR_APP_EXISTS',
      'the account has an authenticator app already; remove it before you add another one',
    )
  return key
}

/** Returns false if the code is wrong. */
export function* confirmAuthenticatorApp(
  deps: AuthenticatorAppDependencies,
  identity: string,
  code: string,
): Work<boolean> {
  const app = yield* lockApp(deps, identity)
  if (!app || app.isConfirmed)
    throw failedPrecondition(
      'NO_AUTHENTICATOR_APP',
      'no authenticator app waits for a code; begin to add one first',
    )
  const step = matchingStep(app.key, code, deps.now())
  if (step === undefined) return false
  yield sql`update authenticator_apps set confirm_time = ${deps.now()}, last_step = ${step}
    where identity = ${identity}`
  return true
}

export const wrongCode = () => invalidField('code', 'is wrong; type the six digits that the app shows now')

/**
 * Uses a code for a sign-in. Returns false if it is wrong, or if this code or a later one was used before: somebody may
 * have watched it being typed (RFC 6238, 5.2).
 */
export function* useAuthenticatorCode(
  deps: AuthenticatorAppDependencies,
  identity: string,
  code: string,
): Work<boolean> {
  const app = yield* lockApp(deps, identity)
  if (!app?.isConfirmed) return false
  const step = matchingStep(app.key, code, deps.now())
  if (step === undefined || step <= app.lastStep) return false
  yield sql`update authenticator_apps set last_step = ${step} where identity = ${identity}`
  return true
}

/**
 * Adds an app that a person has set up while signing in, after its code was typed. Until then, its
 * secret was stored only in the browser, encrypted in a field of the sign-in page. Returns false if
 * the person has got a second factor meanwhile: the new app must not replace it.
 */
export function* addConfirmedApp(
  { secret, now }: AuthenticatorAppDependencies,
  identity: string,
  key: Buffer,
  step: number,
): Work<boolean> {
  if (hasSecondFactor(yield* secondFactorsOf(identity))) return false
  const sealed = secret.seal(purposeOf(identity), key)
  const rows =
    yield sql`insert into authenticator_apps (identity, sealed, last_step, create_time, confirm_time)
    values (${identity}, ${sealed}, ${step}, ${now()}, ${now()})
    on conflict (identity) do update set sealed = excluded.sealed, last_step = excluded.last_step,
      create_time = excluded.create_time, confirm_time = excluded.confirm_time
    where authenticator_apps.confirm_time is null returning identity`
  return rows.length > 0
}

export function* removeAuthenticatorApp(identity: string): Work<void> {
  yield sql`delete from authenticator_apps where identity = ${identity}`
}

type App = { key: Buffer; lastStep: number; isConfirmed: boolean }

/** Locks the row, so that a concurrent use of the same code waits for this one. */
function* lockApp({ secret }: AuthenticatorAppDependencies, identity: string): Work<App | undefined> {
  const row = yield* first(sql`select sealed, last_step, confirm_time from authenticator_apps
    where identity = ${identity} /*pg for update */`)
  if (!row) return undefined
  const [sealed, lastStep, confirmTime] = row as [Uint8Array, number, number | null]
  return { key: secret.open(purposeOf(identity), sealed), lastStep, isConfirmed: confirmTime !== null }
}
