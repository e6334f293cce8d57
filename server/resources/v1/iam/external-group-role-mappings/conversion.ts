// Converts external group role mappings between v1 and v2.
import { create } from '@bufbuild/protobuf'
import type { ExternalGroupRoleMapping as V1Mapping } from '@stemma/api/gen/platform/iam/external_group_role_mapping_pb.ts'
import { ExternalGroupRoleMappingSchema as V1MappingSchema } from '@stemma/api/gen/platform/iam/external_group_role_mapping_pb.ts'
import type { ExternalGroupRoleMapping } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'

export const mappingFromV1 = ({ externalGroupId, roleUidp, scope }: V1Mapping) => ({
  ...{ externalGroupId, roleUid: roleUidp, scope },
})

export const mappingToV1 = (mapping: ExternalGroupRoleMapping): V1Mapping => {
  const { uid, identityProviderUid, externalGroupId, roleUid, scope, createTime } = mapping
  return create(V1MappingSchema, {
    ...{ id: uid, identityProviderUidp: identityProviderUid, externalGroupId, roleUidp: roleUid, scope },
    ...(createTime && { createdAt: createTime }),
  })
}
