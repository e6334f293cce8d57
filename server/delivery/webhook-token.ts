// The id token of a request to a sink. Receivers written for the public platform find its key by
// discovery of the issuer, and check the audience `customer`, the group of the subscription and the
// digest of the data.
import { createHash } from 'node:crypto'
import { SignJWT } from 'jose'
import type { KeyRing } from '../auth/keys/key-ring.ts'

/** Longer than a request takes, but short: the receiver may write the token to its log. */
const lifetimeSeconds = 600

export type TokenDependencies = { keys: Pick<KeyRing, 'idTokenSigning'>; authUrl: string; now(): number }

/** `group` is that of the subscription, `data` the data of the event. */
export function webhookToken(
  { keys, authUrl, now }: TokenDependencies,
  group: string,
  data: string,
): Promise<string> {
  const { kid, algorithm, privateKey } = keys.idTokenSigning()
  const issued = Math.floor(now() / 1000)
  const digest = `sha256:${createHash('sha256').update(data).digest('hex')}`
  // The type is not that of access tokens, so this server accepts it nowhere.
  return new SignJWT({ webhook: { digest } })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid })
    .setIssuer(authUrl)
    .setSubject(`webhook:${group}`)
    .setAudience('customer')
    .setIssuedAt(issued)
    .setExpirationTime(issued + lifetimeSeconds)
    .sign(privateKey)
}
