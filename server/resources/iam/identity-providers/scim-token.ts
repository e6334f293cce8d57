// SCIM tokens: their form, their lifetime, and the state of an identity provider's token.
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt'
import { durationMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { IdentityProvider_SCIM_CredentialState as CredentialState } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { RandomBytes } from '../../../crypto/random.ts'
import type { ScimSettings } from '../../../store/scim-settings.ts'

const dayMs = 24 * 60 * 60 * 1000
const defaultLifetimeMs = 365 * dayMs
/** Two years, one of which may be a leap year. */
const maxLifetimeMs = 731 * dayMs
const defaultOverlapMs = 60 * 60 * 1000
const maxOverlapMs = dayMs

/** Published clients and secret scanners recognise tokens by this prefix. */
export const newScimToken = (random: RandomBytes) => `cgscim_${random(32).toString('hex')}`

type ExpiryRequest = { expireTime?: Timestamp | undefined; neverExpires: boolean }

/** When a new token expires, in milliseconds since 1970. Null if it does not expire. */
export function expiryOf({ expireTime, neverExpires }: ExpiryRequest, now: number): number | null {
  if (!expireTime) return neverExpires ? null : now + defaultLifetimeMs
  if (neverExpires)
    throw invalidField('never_expires', 'must not be set together with expire_time', ['expire_time'])
  const time = timestampMs(expireTime)
  if (!(time > now) || time > now + maxLifetimeMs)
    throw invalidField('expire_time', 'must be in the future, and at most two years from now')
  return time
}

/** For how long the previous token goes on working. */
export function overlapOf(overlap: Duration | undefined): { requestedMs: number; effectiveMs: number } {
  const requestedMs = overlap ? durationMs(overlap) : defaultOverlapMs
  if (!(requestedMs >= 0)) throw invalidField('overlap', 'must not be negative')
  return { requestedMs, effectiveMs: Math.min(requestedMs, maxOverlapMs) }
}

/** When the current token stops working. Null if it does not, or if there is none. */
export const tokenEndOf = ({ tokenExpireTime, revokeTime }: ScimSettings): number | null =>
  revokeTime === null ? tokenExpireTime : Math.min(revokeTime, tokenExpireTime ?? revokeTime)

export const isLive = (settings: ScimSettings, now: number) =>
  settings.tokenDigest !== null && (tokenEndOf(settings) ?? Number.POSITIVE_INFINITY) > now

export const isPreviousLive = ({ previousDigest, previousExpireTime }: ScimSettings, now: number) =>
  previousDigest !== null && previousExpireTime !== null && previousExpireTime > now

export function credentialStateOf(settings: ScimSettings, now: number): CredentialState {
  if (settings.tokenDigest === null) return CredentialState.NOT_ISSUED
  if (settings.revokeTime !== null) return CredentialState.REVOKED
  if (isPreviousLive(settings, now)) return CredentialState.ROTATING
  return isLive(settings, now) ? CredentialState.LIVE : CredentialState.EXPIRED
}
