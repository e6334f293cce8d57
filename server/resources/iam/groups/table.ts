import { create } from '@bufbuild/protobuf'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import {
  RoleBindingGroupSchema,
  RoleBindingSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { fieldAsBytes, fieldAsJson, messageField } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'

const bindingField = messageField(RoleBindingSchema, 'group')
const bindingGroup = ({ uid, name, description }: Group) =>
  create(RoleBindingGroupSchema, { uid, name, description })

export const groups = kindOf(GroupSchema, 'groups', {
  hasChildren: true,
  columns: {
    /** A verified organization is named after the domain of its people's e-mail addresses. */
    domain: ({ verified, name }) => (verified ? name : null),
    second_factor_required: ({ secondFactorRequired }) => (secondFactorRequired ? 1 : 0),
    binding_json: (group) => fieldAsJson(bindingField, bindingGroup(group)),
    binding_bytes: (group) => fieldAsBytes(bindingField, bindingGroup(group)),
  },
  shownAs: [RoleBindingGroupSchema],
})
