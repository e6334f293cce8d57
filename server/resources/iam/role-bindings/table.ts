import { timestampMs } from '@bufbuild/protobuf/wkt'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { neverExpires } from '../../../store/expiry.ts'
import { hydrated } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'
import { groups } from '../groups/table.ts'
import { identities } from '../identities/table.ts'
import { roles } from '../roles/table.ts'
import { identityRedaction } from './redaction.ts'

const name = 'role_bindings'
/**
 * Columns of identities, groups and roles. They contain the row, rendered as a field of a role
 * binding.
 */
const renderedField = { json: 'binding_json', bytes: 'binding_bytes' }

export const roleBindings = kindOf(RoleBindingSchema, name, {
  /** The uids of the identity and the role. The stored message does not contain them: their fields are INPUT_ONLY. */
  extraColumns: { identity: 'text', role: 'text' },
  columns: { expire_time: ({ expireTime }) => (expireTime ? timestampMs(expireTime) : neverExpires) },
  expires: true,
  rendered: hydrated(name, [
    { from: identities, by: 'identity', ...renderedField },
    { from: groups, by: 'parent', ...renderedField },
    { from: roles, by: 'role', ...renderedField },
  ]),
  redaction: identityRedaction,
})
