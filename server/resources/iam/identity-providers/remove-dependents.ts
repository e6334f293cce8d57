// Deletes the rows that depend on an identity provider, before it is deleted itself.
import { removeMembersOf } from '../../../store/external-groups.ts'
import { removeScimBatch } from '../../../store/remove-scim-data.ts'
import { lockScimSettings, writeScimSettings } from '../../../store/scim-settings.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { removeMappingsOf } from '../remove-mappings.ts'

/** Deletes a batch. Returns whether there may be more. Role mappings are deleted before users. */
export function* removeDependents(access: WriteAccess, provider: string, now: number): Work<boolean> {
  const settings = yield* lockScimSettings(provider)
  const hasMore =
    (yield* removeMappingsOf(access, provider)) ||
    (yield* removeMembersOf(provider)) ||
    (yield* removeScimBatch(provider))
  // The provider exists until the last batch is deleted. Its token is revoked now, so that SCIM adds nothing. While
  // provisioning is enabled, people without a SCIM user cannot sign in. So it is enabled, even if it was paused:
  // otherwise people who were deactivated could sign in after a batch has deleted their SCIM user.
  if (
    hasMore &&
    settings &&
    settings.tokenDigest !== null &&
    !(settings.isEnabled && settings.revokeTime !== null)
  )
    yield* writeScimSettings(provider, {
      ...settings,
      ...{ isEnabled: true, version: settings.version + 1, revokeTime: settings.revokeTime ?? now },
      ...{ previousDigest: null, previousExpireTime: null },
    })
  return hasMore
}
