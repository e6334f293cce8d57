import { create } from '@bufbuild/protobuf'
import type {
  BatchDeleteExternalGroupRoleMappingsRequest,
  CreateExternalGroupRoleMappingRequest,
  DeleteExternalGroupRoleMappingRequest,
  ExternalGroupRoleMappingFilter,
  GetExternalGroupRoleMappingRequest,
} from '@stemma/api/gen/platform/iam/external_group_role_mapping_pb.ts'
import {
  BatchDeleteExternalGroupRoleMappingsResponseSchema as BatchDeleteResponseSchema,
  ExternalGroupRoleMappingListSchema,
  ExternalGroupRoleMappings,
  ExternalGroupRoleMappingSchema as V1MappingSchema,
} from '@stemma/api/gen/platform/iam/external_group_role_mapping_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFilter } from '../../uidp-filter.ts'
import { mappingFromV1, mappingToV1 } from './conversion.ts'

const v2 = ExternalGroupRoleMappingsService.method

const renames: FieldRename[] = [
  [/^parent$/, 'parent_id'],
  [/^external_group_role_mapping$/, 'mapping'],
  [/^role_uid$/, 'role_uidp'],
  [/^identity_provider_uid$/, 'identity_provider_uidp'],
  [/^names\b/, 'ids'],
]
const renamesInDelete: FieldRename[] = [[/^uid$/, 'id']]

export const externalGroupRoleMappingsV1 = defineService({ service: ExternalGroupRoleMappings, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  return {
    create(call: Call<CreateExternalGroupRoleMappingRequest>) {
      const { parentId: parent, mapping } = call.request
      const reply = callV2(call, v2.createExternalGroupRoleMapping, {
        parent,
        ...(mapping && { externalGroupRoleMapping: mappingFromV1(mapping) }),
      })
      return convertReply(renameErrorFields(renames, reply), V1MappingSchema, mappingToV1)
    },

    get(call: Call<GetExternalGroupRoleMappingRequest>) {
      const reply = callV2(call, v2.getExternalGroupRoleMapping, { uid: call.request.uid })
      return convertReply(reply, V1MappingSchema, mappingToV1)
    },

    list(call: Call<ExternalGroupRoleMappingFilter>) {
      const { uidp, identityProviderUidp } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listExternalGroupRoleMappings,
        request: { uidp: uidpFilter(uidp, {}), identityProviderUid: identityProviderUidp },
        list: ExternalGroupRoleMappingListSchema,
        items: ({ externalGroupRoleMappings }) => externalGroupRoleMappings.map(mappingToV1),
      })
      return renameErrorFields(renames, listing)
    },

    delete(call: Call<DeleteExternalGroupRoleMappingRequest>) {
      const reply = callV2(call, v2.deleteExternalGroupRoleMapping, { uid: call.request.id })
      return deleteReply(renameErrorFields(renamesInDelete, reply))
    },

    batchDelete(call: Call<BatchDeleteExternalGroupRoleMappingsRequest>) {
      const { parentId, ids } = call.request
      const reply = callV2(call, v2.batchDeleteExternalGroupRoleMappings, { parent: parentId, names: ids })
      return convertReply(
        renameErrorFields(renames, reply),
        BatchDeleteResponseSchema,
        ({ parent, externalGroupRoleMappings }) =>
          create(BatchDeleteResponseSchema, {
            parentId: parent,
            items: externalGroupRoleMappings.map(mappingToV1),
          }),
      )
    },
  }
}
