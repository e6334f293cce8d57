import { ExternalGroupRoleMappingSchema } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { kindOf } from '../../kind.ts'

export const externalGroupRoleMappings = kindOf(
  ExternalGroupRoleMappingSchema,
  'external_group_role_mappings',
  {
    /** The uids of the external group (store/external-groups.ts) and of the role binding that the mapping creates. */
    extraColumns: { external_group: 'text', binding: 'text' },
  },
)
