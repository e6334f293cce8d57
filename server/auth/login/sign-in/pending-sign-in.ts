// A sign-in that waits for a second factor: its password was right, or it is going to create an
// account. The page carries it, encrypted, so every copy of the server can continue it. It is valid
// for one interaction, which belongs to one browser, and is useless without the second factor. It ends
// if the password is changed or the person is signed out everywhere.
import { digestOf } from '../../../crypto/digest.ts'
import type { Sealer } from '../../../crypto/secret.ts'
import { openText, sealText } from '../../../crypto/secret.ts'
import type { Work } from '../../../store/work.ts'
import { isAfterSignOut } from '../../sign-outs.ts'
import { lockPassword } from '../accounts.ts'
import { expiredSignIn } from '../error-response.ts'
import type { NewAccount } from './create-account.ts'
import type { Interaction } from './interaction.ts'

export type PendingSignIn = {
  /** Empty for a person whose account is created at the end of the sign-in. */
  identity: string
  newAccount?: NewAccount | undefined
  /** The digest of the stored password hash. Absent for a new account. */
  passwordDigest?: string | undefined
  /** When the password was typed, in seconds since 1970; later than the last sign-out (`newSignInTime`). */
  since: number
  /** The verified address or, for a new account, the address that the person entered. */
  email?: string | undefined
  /** The secret of an authenticator app that the person sets up now, in base64url. */
  newSecret?: string | undefined
}

const lifetimeMs = 10 * 60_000
const purposeOf = ({ uid }: Interaction) => `second factor of sign-in ${uid}`

type Dependencies = { sealer: Sealer; now(): number }

/** Sealing it again, to show the page again, does not extend it. */
export const sealPending = (
  { sealer }: Pick<Dependencies, 'sealer'>,
  interaction: Interaction,
  pending: PendingSignIn,
): string => sealText(sealer, purposeOf(interaction), JSON.stringify(pending))

/** Throws if it was made for another interaction, or has expired. */
export function openPending(
  { sealer, now }: Dependencies,
  interaction: Interaction,
  sealed: string,
): PendingSignIn {
  const pending = parse(sealer, interaction, sealed)
  // `since` is undefined if an earlier version of the server has sealed it.
  if (!(pending.since * 1000 + lifetimeMs > now())) throw expiredSignIn()
  return pending
}

/** Requires that the password was not changed since it was typed, and that the person was not signed out since then. */
export function* requireNotEnded({ identity, passwordDigest, since }: PendingSignIn): Work<void> {
  const passwordHash = yield* lockPassword(identity)
  const isSamePassword = passwordHash !== undefined && digestOf(passwordHash) === passwordDigest
  if (!isSamePassword || !(yield* isAfterSignOut(identity, since))) throw expiredSignIn()
}

function parse(sealer: Sealer, interaction: Interaction, sealed: string): PendingSignIn {
  try {
    return JSON.parse(openText(sealer, purposeOf(interaction), sealed))
  } catch {
    throw expiredSignIn()
  }
}
