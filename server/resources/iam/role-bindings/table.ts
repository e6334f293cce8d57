import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { hydrated } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'
import { groups } from '../groups/table.ts'
import { identities } from '../identities/table.ts'
import { roles } from '../roles/table.ts'
import { identityRedaction } from './redaction.ts'

const name = 'role_bindings'
const storedField = { json: 'binding_json', bytes: 'binding_bytes' }

export const roleBindings = kindOf(RoleBindingSchema, name, {
  /** Uids in columns, because the INPUT_ONLY fields `identity_uid` and `role_uid` are not stored in the message. */
  extraColumns: { identity: 'text', role: 'text' },
  rendered: hydrated(name, [
    { from: identities, by: 'identity', ...storedField },
    { from: groups, by: 'parent', ...storedField },
    { from: roles, by: 'role', ...storedField },
  ]),
  redaction: identityRedaction,
})
