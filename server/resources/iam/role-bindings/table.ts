import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { kindOf } from '../../kind.ts'

const table = { name: 'role_bindings', columns: ['identity', 'role'], isPlace: false }

export const roleBindings = kindOf(RoleBindingSchema, table, ({ identityUid, roleUid }) => [
  identityUid ?? null,
  roleUid ?? null,
])
