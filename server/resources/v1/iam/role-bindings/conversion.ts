// Role bindings of v1 made into those of v2, and the other way round.
import { create } from '@bufbuild/protobuf'
import type {
  RoleBinding as OldBinding,
  RoleBindingList_Binding as ShownBinding,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import {
  RoleBindingSchema as OldBindingSchema,
  RoleBindingList_BindingSchema as ShownBindingSchema,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import type { RoleBinding } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'

export const bindingOf = ({ identity, role }: OldBinding) => ({ identityUid: identity, roleUid: role })

/** In uids alone. */
export const oldBindingOf = ({ uid, identity, group, role }: RoleBinding): OldBinding =>
  create(OldBindingSchema, {
    id: uid,
    identity: identity?.uid ?? '',
    group: group?.uid ?? '',
    role: role?.uid ?? '',
  })

/** With all that v2 shows of what it binds. */
export function shownBindingOf({ uid, identity, group, role, createTime }: RoleBinding): ShownBinding {
  return create(ShownBindingSchema, {
    id: uid,
    identity: identity?.uid ?? '',
    email: identity?.email ?? '',
    claimMatchIssuer: identity?.issuer ?? '',
    claimMatchSubject: identity?.subject ?? '',
    ...(group && { group: { id: group.uid, name: group.name, description: group.description } }),
    ...(role && { role: { id: role.uid, name: role.name, description: role.description } }),
    ...(createTime && { createdAt: createTime }),
  })
}
