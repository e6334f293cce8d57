import type {
  BatchCreateRoleBindingsRequest,
  CreateRoleBindingRequest,
  ListRoleBindingsRequest,
  RoleBinding,
  UpdateRoleBindingRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { Call } from '../../../rpc/call.ts'
import { principalsOf } from '../../../store/external-groups.ts'
import type { Sql } from '../../../store/sql.ts'
import { raw, sql } from '../../../store/sql.ts'
import { first } from '../../../store/work.ts'
import { createResource } from '../../create.ts'
import { createOnce } from '../../create-once.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { requireFreshSignInForRole } from '../../ownership.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireRevocable } from '../delegation.ts'
import { lockOwnBinding } from '../own-bindings.ts'
import { requireUnmapped, roleIsMapped } from '../remove-mappings.ts'
import { batchCreate } from './batch-create.ts'
import { bindingConflict, requireAllowed } from './require-allowed.ts'
import { roleBindings } from './table.ts'

const conflict = () => bindingConflict

const expiryOf = ({ expireTime }: RoleBinding) => expireTime && `${expireTime.seconds}.${expireTime.nanos}`

function roleBindingsMethods(deps: Dependencies) {
  const { store } = deps

  return {
    getRoleBinding: (call: Call) => getResource(store, roleBindings, call),

    listRoleBindings(call: Call<ListRoleBindingsRequest>) {
      const { identity, group, role } = call.request
      const filters = [...boundTo(identity, deps.now()), ...equalTo(raw('role'), role)]
      return listResources(deps, roleBindings, call, { filters, parent: group })
    },

    createRoleBinding: (call: Call<CreateRoleBindingRequest>) =>
      createResource(deps, roleBindings, call, {
        conflict,
        *beforeCreate(draft, { grants }) {
          const columns = yield* requireAllowed(grants, call.demand.scope, draft)
          yield* requireFreshSignInForRole(deps, grants.caller, columns.role)
          return columns
        },
      }),

    batchCreateRoleBindings: (call: Call<BatchCreateRoleBindingsRequest>) =>
      createOnce(deps, call, (grants) => batchCreate(deps, call, grants)),

    updateRoleBinding: (call: Call<UpdateRoleBindingRequest>) =>
      updateResource(deps, roleBindings, call, {
        conflict,
        *beforeUpdate({ columns: { identity, role }, current, merged, mask, grants }) {
          if (current.externalGroup) throw roleIsMapped(current.externalGroup.mappingUid)
          const isInMask = (name: string) => mask.some(([field]) => field?.name === name)
          if (!isInMask('identity_uid')) merged.identityUid = identity
          if (!isInMask('role_uid')) merged.roleUid = role
          const isSameGrant = merged.identityUid === identity && merged.roleUid === role
          // A change of the expiry is checked, too: it extends or shortens the access.
          if (isSameGrant && expiryOf(current) === expiryOf(merged)) return {}
          const group = parentOf(call.demand.scope)
          const columns = yield* requireAllowed(grants, group, merged, { identityBefore: identity })
          if (!isSameGrant) yield* requireRevocable(grants, group, role)
          yield* requireFreshSignInForRole(deps, grants.caller, role, columns.role)
          return columns
        },
      }),

    deleteRoleBinding: (call: Call) =>
      deleteResource(deps, roleBindings, call, {
        isIdempotent: true,
        isOpenToCaller: (uid, { caller, now }) => lockOwnBinding(caller, uid, now()),
        *beforeDelete(uid) {
          yield* requireUnmapped(uid)
          const row = yield* first(sql`select role from role_bindings where uid = ${uid}`)
          yield* requireFreshSignInForRole(deps, call.demand.caller, row?.[0] as string | undefined)
        },
      }),
  }
}

/** A condition for the bindings of an identity, and of the external groups of which it is a member. */
const boundTo = (identity: string, time: number): Sql[] =>
  identity === '' ? [] : [sql`identity in ${principalsOf([identity], time)}`]

export const roleBindingsResource = defineResource({
  kind: roleBindings,
  service: RoleBindingsService,
  methods: roleBindingsMethods,
})
