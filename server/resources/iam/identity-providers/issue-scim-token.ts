// Creates the SCIM token of an identity provider, and replaces it.
import { create } from '@bufbuild/protobuf'
import { durationFromMs } from '@bufbuild/protobuf/wkt'
import type {
  GenerateScimTokenRequest,
  RegenerateScimTokenRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import {
  GenerateScimTokenResponseSchema,
  RegenerateScimTokenResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { failedPrecondition, noScimToken } from '../../../aip/errors.ts'
import { digestOf } from '../../../crypto/digest.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { changeScimSettings, requireEtag, requireMayProvision } from './change-scim-settings.ts'
import { timeField } from './get-with-scim.ts'
import { expiryOf, isLive, newScimToken, overlapOf } from './scim-token.ts'

export const generateScimToken = (deps: Dependencies, call: Call<GenerateScimTokenRequest>): Promise<Reply> =>
  changeScimSettings(
    deps,
    call,
    (uid, current, now) => {
      if (current.tokenDigest !== null)
        throw failedPrecondition(
          'SCIM_TOKEN_EXISTS',
          'the identity provider has a SCIM token, or had one; use RegenerateScimToken',
        )
      const [token, expires] = [newScimToken(deps.random), expiryOf(call.request, now)]
      const changed = { ...current, tokenDigest: digestOf(token), tokenExpireTime: expires }
      return [
        changed,
        (etag) =>
          messageReply(
            GenerateScimTokenResponseSchema,
            create(GenerateScimTokenResponseSchema, {
              ...{ token, etag, identityProviderUid: uid, endpointUrl: endpointOf(deps, uid) },
              ...timeField('expireTime', expires),
            }),
          ),
      ]
    },
    { authorize: requireMayProvision },
  )

export const regenerateScimToken = (
  deps: Dependencies,
  call: Call<RegenerateScimTokenRequest>,
): Promise<Reply> =>
  changeScimSettings(
    deps,
    call,
    (uid, current, now) => {
      if (current.tokenDigest === null) throw noScimToken(uid)
      const { requestedMs, effectiveMs } = overlapOf(call.request.overlap)
      const [token, expires] = [newScimToken(deps.random), expiryOf(call.request, now)]
      requireEtag(call.request.etag, current)
      const previous = isLive(current, now) && effectiveMs > 0 ? current.tokenDigest : null
      const previousEnd = previous && Math.min(now + effectiveMs, current.tokenExpireTime ?? Number.MAX_VALUE)
      const changed = {
        ...current,
        ...{ tokenDigest: digestOf(token), tokenExpireTime: expires, revokeTime: null },
        ...{ previousDigest: previous, previousExpireTime: previousEnd || null },
      }
      return [
        changed,
        (etag) =>
          messageReply(
            RegenerateScimTokenResponseSchema,
            create(RegenerateScimTokenResponseSchema, {
              ...{ token, etag, identityProviderUid: uid, endpointUrl: endpointOf(deps, uid) },
              ...timeField('expireTime', expires),
              ...timeField('previousTokenExpireTime', previousEnd || null),
              requestedOverlap: durationFromMs(requestedMs),
            }),
          ),
      ]
    },
    { authorize: requireMayProvision },
  )

const endpointOf = ({ settings }: Dependencies, uid: string) => `${settings.scimUrl}/${uid}`
