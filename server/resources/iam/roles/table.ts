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

const inBinding = messageField(RoleBindingSchema, 'role')
const inInvite = messageField(GroupInviteSchema, 'role')

const brief = ({ uid, name, description }: Role) => create(RoleBindingRoleSchema, { uid, name, description })
const offered = ({ uid, name, description, capabilities }: Role) =>
  create(GroupInviteRoleSchema, { uid, name, description, capabilities })

export const roles = kindOf(RoleSchema, 'roles', {
  columns: {
    bits: ({ capabilities }) => encodeBits(capabilities),
    binding_json: (role) => fieldAsJson(inBinding, brief(role)),
    binding_bytes: (role) => fieldAsBytes(inBinding, brief(role)),
    invite_json: (role) => fieldAsJson(inInvite, offered(role)),
    invite_bytes: (role) => fieldAsBytes(inInvite, offered(role)),
  },
  shownAs: [RoleBindingRoleSchema, GroupInviteRoleSchema],
})
