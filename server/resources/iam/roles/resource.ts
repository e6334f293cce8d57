// Roles are built in or custom. Built-in roles are in no group and can be bound in every group; a custom role is in a
// group.
import type {
  CreateRoleRequest,
  ListRolesRequest,
  Role,
  UpdateRoleRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { invalidField, permissionDenied } from '../../../aip/errors.ts'
import { isUid, parentOf } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Bits } from '../../../policy/bits.ts'
import { builtInRoles } from '../../../policy/built-in-roles.ts'
import { capabilityOf, nameOf } from '../../../policy/capabilities.ts'
import { grantedRegions } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { MaybePromise } from '../../../wire/maybe-promise.ts'
import type { Reply } from '../../../wire/reply.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources, pointRegions } from '../../list.ts'
import { nameContains } from '../../name-search.ts'
import { readReply } from '../../reply.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireHeld } from '../delegation.ts'
import { removeExpired } from '../expired-bindings.ts'
import { seedRoles } from './built-in.ts'
import { roles } from './table.ts'

const builtInRegions = pointRegions(builtInRoles.map(({ uid }) => uid))
const conflict = ({ name }: Role) => `the group has a role named ${JSON.stringify(name)} already`

function rolesMethods(deps: Dependencies) {
  const { store } = deps

  /** A caller who may list roles in at least one group may read the built-in roles. */
  function getBuiltIn(call: Call): MaybePromise<Reply> {
    const { demand, form } = call
    return store.read(function* () {
      const grants = yield* admitToRead({ ...demand, scope: '' })
      const [capability = 0] = demand.capabilities
      if (grantedRegions(grants, demand.capabilities).length === 0)
        throw permissionDenied(nameOf(capability), demand.scope)
      return yield* readReply(roles, demand.scope, form, grants)
    })
  }

  return {
    getRole(call: Call) {
      const { scope } = call.demand
      return isUid(scope) && parentOf(scope) === '' ? getBuiltIn(call) : getResource(store, roles, call)
    },

    listRoles: (call: Call<ListRolesRequest>) =>
      listResources(deps, roles, call, {
        filters: [...equalTo(raw('name'), call.request.name), ...nameContains(call.request.nameContains)],
        alsoVisible: (_, granted) => (granted.length > 0 ? builtInRegions : []),
      }),

    createRole: (call: Call<CreateRoleRequest>) =>
      createResource(deps, roles, call, {
        conflict,
        beforeCreate(draft, { grants }) {
          requireHeld(grants, normalize(draft), call.demand.scope)
        },
      }),

    updateRole: (call: Call<UpdateRoleRequest>) =>
      updateResource(deps, roles, call, {
        conflict,
        *beforeUpdate({ current, merged, grants }) {
          const before = bitsOf(current)
          const added = [...normalize(merged)].filter((bit) => !before.has(bit))
          requireHeld(grants, new Set(added), parentOf(call.demand.scope))
          yield lockBindings(call.demand.scope)
        },
      }),

    deleteRole: (call: Call) =>
      deleteResource(deps, roles, call, {
        removeBatch: (uid, access) => removeExpired(access, deps.now(), sql`role = ${uid}`),
        inUse: 'cannot delete role that is still bound or is the default of an identity provider',
      }),
  }
}

export const rolesResource = defineResource({
  kind: roles,
  service: RolesService,
  methods: rolesMethods,
  onStart: seedRoles,
})

/** Waits for transactions that rely on a binding of the role, and makes later ones wait for this transaction. */
const lockBindings = (role: string) =>
  sql`select uid from role_bindings where role = ${role} /*pg for no key update */`

/** Sorts the capabilities, removes duplicates, and returns them as bits. */
function normalize(role: Role): Bits {
  const unknown = role.capabilities.find((number) => !capabilityOf(number))
  if (unknown !== undefined) throw invalidField('capabilities', `must be capabilities; ${unknown} is not one`)
  if (role.capabilities.length === 0)
    throw invalidField('capabilities', 'must contain at least one capability')
  role.capabilities = [...new Set(role.capabilities)].sort((a, b) => a - b)
  return bitsOf(role)
}

const bitsOf = ({ capabilities }: Role): Bits =>
  new Set(capabilities.flatMap((number) => capabilityOf(number)?.bit ?? []))
