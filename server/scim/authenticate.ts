// Verifies the SCIM token of a request.
import { digestOf, equalInConstantTime } from '../crypto/digest.ts'
import type { readScimSettings } from '../store/scim-settings.ts'
import { initialScimSettings } from '../store/scim-settings.ts'
import type { Work } from '../store/work.ts'
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

/**
 * Throws unless the request has a token of this identity provider that is valid at `time`, and
 * provisioning is on. In a write, `readSettings` locks the settings, so that a revocation waits for
 * the write or is seen by it.
 */
export function* requireToken(
  readSettings: typeof readScimSettings,
  provider: string,
  authorization: string | undefined,
  time: number,
): Work<void> {
  const [, token] = /^Bearer +(cgscim_[0-9a-f]{64}) *$/i.exec(authorization ?? '') ?? []
  if (token === undefined) throw refused()
  const settings = (yield* readSettings(provider)) ?? initialScimSettings
  const { tokenDigest, tokenExpireTime, previousDigest, previousExpireTime, revokeTime, isEnabled } = settings
  const digest = digestOf(token)
  const isCurrent = equalInConstantTime(digest, tokenDigest ?? noDigest)
  const isPrevious = equalInConstantTime(digest, previousDigest ?? noDigest)
  const isValid =
    revokeTime === null &&
    ((isCurrent && (tokenExpireTime === null || tokenExpireTime > time)) ||
      (isPrevious && previousExpireTime !== null && previousExpireTime > time))
  if (!isValid) throw refused()
  if (!isEnabled) throw paused()
}
