import { create } from '@bufbuild/protobuf'
import type {
  CreateRoleBindingBatchRequest,
  CreateRoleBindingRequest,
  DeleteRoleBindingRequest,
  RoleBindingFilter,
  RoleBinding as V1Binding,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import {
  RoleBindingBatchSchema,
  RoleBindingListSchema,
  RoleBindings,
  RoleBindingSchema as V1BindingSchema,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { bindingFromV1, bindingToV1, listedBindingToV1 } from './conversion.ts'

const v2 = RoleBindingsService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/\b(identity|role)_uid$/, '$1'],
]
const renamesInBatch: FieldRename[] = [
  [/^requests$/, 'role_bindings'],
  [/\brequests\[(\d+)\]\.role_binding\b/, 'role_bindings[$1]'],
  ...renames,
]

export const roleBindingsV1 = defineService({ service: RoleBindings, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  return {
    create(call: Call<CreateRoleBindingRequest>) {
      const { parent, roleBinding } = call.request
      const reply = callV2(call, v2.createRoleBinding, {
        parent,
        ...(roleBinding && { roleBinding: bindingFromV1(roleBinding) }),
      })
      return convertReply(renameErrorFields(renames, reply), V1BindingSchema, bindingToV1)
    },

    createBatch(call: Call<CreateRoleBindingBatchRequest>) {
      const { parent, roleBindings } = call.request
      const requests = roleBindings.map((binding) => ({ roleBinding: bindingFromV1(binding) }))
      const reply = callV2(call, v2.batchCreateRoleBindings, { parent, requests })
      return convertReply(renameErrorFields(renamesInBatch, reply), RoleBindingBatchSchema, (batch) =>
        create(RoleBindingBatchSchema, { roleBindings: batch.roleBindings.map(bindingToV1) }),
      )
    },

    update(call: Call<V1Binding>) {
      const roleBinding = { uid: call.request.id, ...bindingFromV1(call.request) }
      const reply = callV2(call, v2.updateRoleBinding, { roleBinding, updateMask: { paths: ['*'] } })
      return convertReply(renameErrorFields(renames, reply), V1BindingSchema, bindingToV1)
    },

    list(call: Call<RoleBindingFilter>) {
      const { id, uidp } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listRoleBindings,
        request: { uidp: uidpFilter(uidp, { id }) },
        list: RoleBindingListSchema,
        items: ({ roleBindings }) => roleBindings.map(listedBindingToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },

    delete(call: Call<DeleteRoleBindingRequest>) {
      const reply = callV2(call, v2.deleteRoleBinding, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}
