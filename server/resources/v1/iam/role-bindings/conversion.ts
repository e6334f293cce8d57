// Converts role bindings between v1 and v2.
import { create } from '@bufbuild/protobuf'
import type {
  RoleBinding as V1Binding,
  RoleBindingList_Binding as V1ListedBinding,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import {
  RoleBindingSchema as V1BindingSchema,
  RoleBindingList_BindingSchema as V1ListedBindingSchema,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import type {
  RoleBinding,
  RoleBindingExternalGroup,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'

export const bindingFromV1 = ({ identity, role }: V1Binding) => ({ identityUid: identity, roleUid: role })

/** The binding with uids only, as Create and Update return it. */
export const bindingToV1 = ({ uid, identity, group, role }: RoleBinding): V1Binding =>
  create(V1BindingSchema, {
    id: uid,
    identity: identity?.uid ?? '',
    group: group?.uid ?? '',
    role: role?.uid ?? '',
  })

/** The binding with the details of its identity, group and role, as List returns it. */
export function listedBindingToV1(binding: RoleBinding): V1ListedBinding {
  const { uid, identity, group, role, createTime, externalGroup } = binding
  return create(V1ListedBindingSchema, {
    id: uid,
    identity: identity?.uid ?? '',
    email: identity?.email ?? '',
    claimMatchIssuer: identity?.issuer ?? '',
    claimMatchSubject: identity?.subject ?? '',
    ...(group && { group: { id: group.uid, name: group.name, description: group.description } }),
    ...(role && { role: { id: role.uid, name: role.name, description: role.description } }),
    ...(createTime && { createdAt: createTime }),
    ...(externalGroup && { externalGroup: externalGroupToV1(externalGroup) }),
  })
}

const externalGroupToV1 = ({
  mappingUid,
  identityProviderUid,
  externalGroupId,
}: RoleBindingExternalGroup) => ({
  ...{ mapping: mappingUid, identityProvider: identityProviderUid, externalGroupId },
})
