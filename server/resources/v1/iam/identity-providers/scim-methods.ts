// The SCIM calls of v1. They differ from those of v2 only in the name of the field with the uid.
import { create } from '@bufbuild/protobuf'
import type {
  GenerateScimTokenRequest,
  RegenerateScimTokenRequest,
  RevokeScimTokenRequest,
  SetScimEnabledRequest,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import {
  GenerateScimTokenResponseSchema,
  RegenerateScimTokenResponseSchema,
  RevokeScimTokenResponseSchema,
  SetScimEnabledResponseSchema,
} from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { convertReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { scimResponseToV1 } from './conversion.ts'

const v2 = IdentityProvidersService.method
const renames: FieldRename[] = [[/^identity_provider_uid$/, 'identity_provider_id']]

export const scimMethodsV1 = ({ callV2 }: V1Dependencies) => ({
  generateScimToken(call: Call<GenerateScimTokenRequest>) {
    const { identityProviderId, expireTime, neverExpires } = call.request
    const reply = callV2(call, v2.generateScimToken, {
      ...{ identityProviderUid: identityProviderId, neverExpires },
      ...(expireTime && { expireTime }),
    })
    return convertReply(renameErrorFields(renames, reply), GenerateScimTokenResponseSchema, (response) =>
      create(GenerateScimTokenResponseSchema, scimResponseToV1(response)),
    )
  },

  regenerateScimToken(call: Call<RegenerateScimTokenRequest>) {
    const { identityProviderId, overlap, expireTime, etag, neverExpires } = call.request
    const reply = callV2(call, v2.regenerateScimToken, {
      ...{ identityProviderUid: identityProviderId, etag, neverExpires },
      ...(overlap && { overlap }),
      ...(expireTime && { expireTime }),
    })
    return convertReply(renameErrorFields(renames, reply), RegenerateScimTokenResponseSchema, (response) =>
      create(RegenerateScimTokenResponseSchema, scimResponseToV1(response)),
    )
  },

  revokeScimToken(call: Call<RevokeScimTokenRequest>) {
    const reply = callV2(call, v2.revokeScimToken, { identityProviderUid: call.request.identityProviderId })
    return convertReply(renameErrorFields(renames, reply), RevokeScimTokenResponseSchema, (response) =>
      create(RevokeScimTokenResponseSchema, scimResponseToV1(response)),
    )
  },

  setScimEnabled(call: Call<SetScimEnabledRequest>) {
    const { identityProviderId, enabled, etag } = call.request
    const reply = callV2(call, v2.setScimEnabled, { identityProviderUid: identityProviderId, enabled, etag })
    return convertReply(renameErrorFields(renames, reply), SetScimEnabledResponseSchema, (response) =>
      create(SetScimEnabledResponseSchema, scimResponseToV1(response)),
    )
  },
})
