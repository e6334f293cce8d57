import type {
  BatchCreateRoleBindingsRequest,
  CreateRoleBindingRequest,
  ListRoleBindingsRequest,
  UpdateRoleBindingRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw } from '../../../store/sql.ts'
import { createResource } from '../../create.ts'
import { createOnce } from '../../create-once.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { batchCreate } from './batch-create.ts'
import { bindingConflict, requireAllowed } from './require-allowed.ts'
import { roleBindings } from './table.ts'

const conflict = () => bindingConflict

function roleBindingsMethods(deps: Dependencies) {
  const { store } = deps

  return {
    getRoleBinding: (call: Call) => getResource(store, roleBindings, call),

    listRoleBindings(call: Call<ListRoleBindingsRequest>) {
      const { identity, group, role } = call.request
      const filters = [...equalTo(raw('identity'), identity), ...equalTo(raw('role'), role)]
      return listResources(deps, roleBindings, call, { filters, group })
    },

    createRoleBinding: (call: Call<CreateRoleBindingRequest>) =>
      createResource(deps, roleBindings, call, {
        conflict,
        beforeCreate: (draft, { grants }) => requireAllowed(grants, call.demand.scope, draft),
      }),

    batchCreateRoleBindings: (call: Call<BatchCreateRoleBindingsRequest>) =>
      createOnce(deps, call, (grants) => batchCreate(deps, call, grants)),

    updateRoleBinding: (call: Call<UpdateRoleBindingRequest>) =>
      updateResource(deps, roleBindings, call, {
        conflict,
        *beforeUpdate({ columns: { identity, role }, merged, mask, grants }) {
          const isInMask = (name: string) => mask.some(([field]) => field?.name === name)
          if (!isInMask('identity_uid')) merged.identityUid = identity
          if (!isInMask('role_uid')) merged.roleUid = role
          if (merged.identityUid === identity && merged.roleUid === role) return {}
          return yield* requireAllowed(grants, parentOf(call.demand.scope), merged, {
            identityBefore: identity,
          })
        },
      }),

    deleteRoleBinding: (call: Call) => deleteResource(deps, roleBindings, call, { isIdempotent: true }),
  }
}

export const roleBindingsResource = defineResource({
  kind: roleBindings,
  service: RoleBindingsService,
  methods: roleBindingsMethods,
})
