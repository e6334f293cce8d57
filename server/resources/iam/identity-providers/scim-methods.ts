// Methods that manage the SCIM token of an identity provider, and turn provisioning on and off. server/scim verifies
// the token.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  GenerateScimTokenRequest,
  RegenerateScimTokenRequest,
  SetScimEnabledRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  RevokeScimTokenResponseSchema,
  SetScimEnabledResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { failedPrecondition, noScimToken } from '../../../aip/errors.ts'
import { rootOf } from '../../../aip/uid.ts'
import { builtInRole } from '../../../policy/built-in-roles.ts'
import type { Call } from '../../../rpc/call.ts'
import { neverExpires } from '../../../store/expiry.ts'
import { raw, sql } from '../../../store/sql.ts'
import { isNotSuspended } from '../../../store/suspensions.ts'
import type { Work } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { changeScimSettings, requireEtag, requireMayProvision } from './change-scim-settings.ts'
import { getWithScim } from './get-with-scim.ts'
import { generateScimToken, regenerateScimToken } from './issue-scim-token.ts'

export const scimMethods = (deps: Dependencies) => ({
  getIdentityProvider: (call: Call) => getWithScim(deps, call),

  generateScimToken: (call: Call<GenerateScimTokenRequest>) => generateScimToken(deps, call),

  regenerateScimToken: (call: Call<RegenerateScimTokenRequest>) => regenerateScimToken(deps, call),

  revokeScimToken: (call: Call) =>
    changeScimSettings(deps, call, (uid, current, now) => {
      if (current.tokenDigest === null) throw noScimToken(uid)
      const revokeTime = current.revokeTime ?? now
      const changed = { ...current, revokeTime, previousDigest: null, previousExpireTime: null }
      return [
        changed,
        (etag) =>
          messageReply(
            RevokeScimTokenResponseSchema,
            create(RevokeScimTokenResponseSchema, {
              ...{ identityProviderUid: uid, etag, enabled: current.isEnabled },
              revokeTime: timestampFromMs(revokeTime),
            }),
          ),
      ]
    }),

  setScimEnabled: (call: Call<SetScimEnabledRequest>) =>
    changeScimSettings(
      deps,
      call,
      (uid, current) => {
        const { enabled, etag: sentEtag } = call.request
        requireEtag(sentEtag, current)
        return [
          { ...current, isEnabled: enabled },
          (etag) =>
            messageReply(
              SetScimEnabledResponseSchema,
              create(SetScimEnabledResponseSchema, { identityProviderUid: uid, enabled, etag }),
            ),
        ]
      },
      call.request.enabled ? { authorize: requireMayProvision, check: requireTwoOwners } : {},
    ),
})

/**
 * Provisioning can deactivate people, so an organization with one owner could be left without any.
 * An external group with the role does not count: provisioning decides who its members are. Neither does an owner whom
 * an identity provider has deactivated.
 */
function* requireTwoOwners(provider: string): Work<void> {
  const owners = yield sql`select distinct b.identity from role_bindings b
    where b.parent = ${rootOf(provider)} and b.role = ${builtInRole('owner').uid} and b.expire_time = ${neverExpires}
    and b.identity not in (select external_group from external_group_role_mappings)
    and ${isNotSuspended(raw('b.identity'))} limit 2`
  if (owners.length < 2)
    throw failedPrecondition(
      'TOO_FEW_OWNERS',
      'provisioning needs at least two identities with the role owner in the organization itself, without an expiry and not deactivated by an identity provider, so that it cannot lock out the only owner',
    )
}
