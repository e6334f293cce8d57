import { create } from '@bufbuild/protobuf'
import {
  GroupInviteRoleSchema,
  GroupInviteSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import {
  RoleBindingRoleSchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import type { Role } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { encodeBits } from '../../../policy/bits.ts'
import { fieldAsBytes, fieldAsJson, messageField } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'

const bindingField = messageField(RoleBindingSchema, 'role')
const inviteField = messageField(GroupInviteSchema, 'role')

const bindingRole = ({ uid, name, description }: Role) =>
  create(RoleBindingRoleSchema, { uid, name, description })
const inviteRole = ({ uid, name, description, capabilities }: Role) =>
  create(GroupInviteRoleSchema, { uid, name, description, capabilities })

export const roles = kindOf(RoleSchema, 'roles', {
  columns: {
    bits: ({ capabilities }) => encodeBits(capabilities),
    binding_json: (role) => fieldAsJson(bindingField, bindingRole(role)),
    binding_bytes: (role) => fieldAsBytes(bindingField, bindingRole(role)),
    invite_json: (role) => fieldAsJson(inviteField, inviteRole(role)),
    invite_bytes: (role) => fieldAsBytes(inviteField, inviteRole(role)),
  },
  shownAs: [RoleBindingRoleSchema, GroupInviteRoleSchema],
})
