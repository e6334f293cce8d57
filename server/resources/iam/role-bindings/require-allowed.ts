import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { RoleBinding } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import type { Work } from '../../../store/work.ts'
import { requireBelowBindingLimit } from '../binding.ts'
import { requireBindable, requireDelegable } from '../delegation.ts'
import { removeExpiredBlockers } from '../expired-bindings.ts'

export const bindingConflict = 'the identity has this role in this group already'

/**
 * Requires that the caller may create this binding, or update an existing binding to equal it. Also
 * deletes expired bindings that would conflict with it or count towards the limits of its groups.
 * Returns the extra columns of its row. `prefix` is the path of the binding in the request;
 * `identityBefore` is the identity of the binding before an update.
 */
export function* requireAllowed(
  grants: WriteGrants,
  group: string,
  binding: RoleBinding,
  { prefix = '', identityBefore = '' } = {},
): Work<{ identity: string; role: string }> {
  const { identityUid = '', roleUid = '', expireTime } = binding
  if (identityUid === '') throw invalidField(`${prefix}identity_uid`, 'is required')
  if (roleUid === '') throw invalidField(`${prefix}role_uid`, 'is required')
  if (expireTime && timestampMs(expireTime) <= grants.time)
    throw invalidField(
      `${prefix}expire_time`,
      'must be in the future, or be left out for a role binding that does not expire',
    )
  yield* requireDelegable(grants, group, roleUid, `${prefix}role_uid`)
  yield* requireBindable(grants, group, identityUid, `${prefix}identity_uid`)
  if (identityUid !== identityBefore) yield* requireBelowBindingLimit(identityUid, grants.time)
  yield* removeExpiredBlockers(grants, { identity: identityUid, role: roleUid, group }, grants.time)
  return { identity: identityUid, role: roleUid }
}
