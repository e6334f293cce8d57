import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { hydrated } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'
import { groups } from '../groups/table.ts'
import { identities } from '../identities/table.ts'
import { roles } from '../roles/table.ts'

const name = 'role_bindings'
const part = { json: 'binding_json', bytes: 'binding_bytes' }

export const roleBindings = kindOf(RoleBindingSchema, name, {
  columns: {
    identity: ({ identityUid }) => identityUid ?? null,
    role: ({ roleUid }) => roleUid ?? null,
  },
  rendered: hydrated(name, [
    { from: identities, by: 'identity', ...part },
    { from: groups, by: 'parent', ...part },
    { from: roles, by: 'role', ...part },
  ]),
})
