// Verifies the SCIM token of a request.
import { digestOf, equalInConstantTime } from '../crypto/digest.ts'
import type { Store } from '../store/db.ts'
import { initialScimSettings, readScimSettings } from '../store/scim-settings.ts'
import { ScimError } from './errors.ts'

/** The error is the same whether the provider does not exist, has no token, or has another one. */
const refused = () =>
  new ScimError(401, 'the SCIM token is missing or not valid', undefined, {
    'www-authenticate': 'Bearer realm="SCIM"',
  })

const paused = () =>
  new ScimError(403, 'provisioning is turned off for this identity provider; turn it on with SetScimEnabled')

/** A digest that no token has. */
const noDigest = '-'.repeat(43)

/** Requires a token of this identity provider that works now, and that provisioning is on. */
export async function requireToken(
  { store, now }: { store: Store; now(): number },
  provider: string,
  authorization: string | undefined,
): Promise<void> {
  const [, token] = /^Bearer +(cgscim_[0-9a-f]{64}) *$/i.exec(authorization ?? '') ?? []
  if (token === undefined) throw refused()
  const settings = (await store.read(() => readScimSettings(provider))) ?? initialScimSettings
  const { tokenDigest, tokenExpireTime, previousDigest, previousExpireTime, revokeTime, isEnabled } = settings
  const digest = digestOf(token)
  const isCurrent = equalInConstantTime(digest, tokenDigest ?? noDigest)
  const isPrevious = equalInConstantTime(digest, previousDigest ?? noDigest)
  const time = now()
  const isValid =
    revokeTime === null &&
    ((isCurrent && (tokenExpireTime === null || tokenExpireTime > time)) ||
      (isPrevious && previousExpireTime !== null && previousExpireTime > time))
  if (!isValid) throw refused()
  if (!isEnabled) throw paused()
}
