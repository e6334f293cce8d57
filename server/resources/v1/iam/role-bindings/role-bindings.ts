// Role bindings as v1 has them.
import { create } from '@bufbuild/protobuf'
import type {
  CreateRoleBindingBatchRequest,
  CreateRoleBindingRequest,
  DeleteRoleBindingRequest,
  RoleBinding as OldBinding,
  RoleBindingFilter,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import {
  RoleBindingSchema as OldBindingSchema,
  RoleBindingBatchSchema,
  RoleBindingListSchema,
} from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import type { Renaming } from '../../convert.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { bindingOf, oldBindingOf, shownBindingOf } from './conversion.ts'

const v2 = RoleBindingsService.method

const names: Renaming[] = [
  [/^uid$/, 'id'],
  [/\b(identity|role)_uid$/, '$1'],
]
const namesInBatch: Renaming[] = [
  [/^requests$/, 'role_bindings'],
  [/\brequests\[(\d+)\]\.role_binding\b/, 'role_bindings[$1]'],
  ...names,
]

export function roleBindingsOfV1(ask: Ask) {
  return {
    create(call: Call<CreateRoleBindingRequest>) {
      const { parent, roleBinding } = call.request
      const asked = ask(call, v2.createRoleBinding, {
        parent,
        ...(roleBinding && { roleBinding: bindingOf(roleBinding) }),
      })
      return converted(inNames(names, asked), OldBindingSchema, oldBindingOf)
    },

    createBatch(call: Call<CreateRoleBindingBatchRequest>) {
      const { parent, roleBindings } = call.request
      const requests = roleBindings.map((binding) => ({ roleBinding: bindingOf(binding) }))
      const asked = ask(call, v2.batchCreateRoleBindings, { parent, requests })
      return converted(inNames(namesInBatch, asked), RoleBindingBatchSchema, (batch) =>
        create(RoleBindingBatchSchema, { roleBindings: batch.roleBindings.map(oldBindingOf) }),
      )
    },

    update(call: Call<OldBinding>) {
      const roleBinding = { uid: call.request.id, ...bindingOf(call.request) }
      const asked = ask(call, v2.updateRoleBinding, { roleBinding, updateMask: { paths: ['*'] } })
      return converted(inNames(names, asked), OldBindingSchema, oldBindingOf)
    },

    list(call: Call<RoleBindingFilter>) {
      const { id, uidp } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listRoleBindings,
        request: { uidp: placeOf(uidp, { id }) },
        list: RoleBindingListSchema,
        items: ({ roleBindings }) => roleBindings.map(shownBindingOf),
      })
      return inNames(namesOfPlace(id && 'id'), listing)
    },

    delete(call: Call<DeleteRoleBindingRequest>) {
      return deleted(inNames(names, ask(call, v2.deleteRoleBinding, { uid: call.request.id })))
    },
  }
}
