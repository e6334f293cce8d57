import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { hydrated } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'
import { groups } from '../groups/table.ts'
import { identities } from '../identities/table.ts'
import { roles } from '../roles/table.ts'

const name = 'role_bindings'
const storedField = { json: 'binding_json', bytes: 'binding_bytes' }

export const roleBindings = kindOf(RoleBindingSchema, name, {
  /** Uids. The fields `identity_uid` and `role_uid` are INPUT_ONLY. */
  extraColumns: { identity: 'text', role: 'text' },
  rendered: hydrated(name, [
    { from: identities, by: 'identity', ...storedField },
    { from: groups, by: 'parent', ...storedField },
    { from: roles, by: 'role', ...storedField },
  ]),
})
