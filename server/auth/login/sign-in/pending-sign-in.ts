// A sign-in that waits for a second factor: its password was right, or it is going to create an
// account. The page carries it, encrypted, so every copy of the server can continue it. It is valid
// for one interaction, which belongs to one browser, and is useless without the second factor.
import type { Sealer } from '../../../crypto/secret.ts'
import { openText, sealText } from '../../../crypto/secret.ts'
import { expiredSignIn } from '../error-response.ts'
import type { NewAccount } from './create-account.ts'
import type { Interaction } from './interaction.ts'

export type PendingSignIn = {
  /** Empty for a person whose account is created at the end of the sign-in. */
  identity: string
  newAccount?: NewAccount | undefined
  /** The verified address or, for a new account, the address that the person entered. */
  email?: string | undefined
  /** The secret of an authenticator app that the person sets up now, in base64url. */
  newSecret?: string | undefined
}

const lifetimeMs = 10 * 60_000
const purposeOf = ({ uid }: Interaction) => `second factor of sign-in ${uid}`

type Dependencies = { sealer: Sealer; now(): number }

export const sealPending = (
  { sealer, now }: Dependencies,
  interaction: Interaction,
  pending: PendingSignIn,
): string =>
  sealText(sealer, purposeOf(interaction), JSON.stringify({ ...pending, expires: now() + lifetimeMs }))

/** Throws if it was made for another interaction, or has expired. */
export function openPending(
  { sealer, now }: Dependencies,
  interaction: Interaction,
  sealed: string,
): PendingSignIn {
  const { expires, ...pending } = parse(sealer, interaction, sealed)
  if (expires <= now()) throw expiredSignIn()
  return pending
}

function parse(
  sealer: Sealer,
  interaction: Interaction,
  sealed: string,
): PendingSignIn & { expires: number } {
  try {
    return JSON.parse(openText(sealer, purposeOf(interaction), sealed))
  } catch {
    throw expiredSignIn()
  }
}
