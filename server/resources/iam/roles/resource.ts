// Roles: built-in ones, which lie in no group and are for everyone, and those of a group.
import type { MessageShape } from '@bufbuild/protobuf'
import type {
  CreateRoleRequest,
  ListRolesRequest,
  RoleSchema,
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
import { readReply } from '../../reply.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireHeld } from '../delegation.ts'
import { seedRoles } from './built-in.ts'
import { roles } from './table.ts'

type Role = MessageShape<typeof RoleSchema>

const builtIns = pointRegions(builtInRoles.map(({ uid }) => uid))
const conflict = ({ name }: Role) => `the group has a role named ${JSON.stringify(name)} already`

function rolesMethods(deps: Dependencies) {
  const { store } = deps

  /** Whoever may list roles anywhere may read those that are for everyone. */
  function getBuiltIn(call: Call): MaybePromise<Reply> {
    const { demand, form } = call
    return store.read(function* () {
      const grants = yield* admitToRead({ ...demand, scope: '' })
      const [capability = 0] = demand.capabilities
      if (grantedRegions(grants, demand.capabilities).length === 0)
        throw permissionDenied(nameOf(capability), demand.scope)
      return yield* readReply(roles, demand.scope, form)
    })
  }

  return {
    getRole(call: Call) {
      const { scope } = call.demand
      return isUid(scope) && parentOf(scope) === '' ? getBuiltIn(call) : getResource(store, roles, call)
    },

    listRoles: (call: Call<ListRolesRequest>) =>
      listResources(deps, roles, call, {
        filters: equalTo(raw('name'), call.request.name),
        alsoVisible: (_, granted) => (granted.length > 0 ? builtIns : []),
      }),

    createRole: (call: Call<CreateRoleRequest>) =>
      createResource(deps, roles, call, {
        conflict,
        beforeCreate(draft, { grants }) {
          requireHeld(grants, tidy(draft), call.demand.scope)
        },
      }),

    updateRole: (call: Call<UpdateRoleRequest>) =>
      updateResource(deps, roles, call, {
        conflict,
        *beforeUpdate({ current, merged, grants }) {
          const before = bitsOf(current)
          const added = [...tidy(merged)].filter((bit) => !before.has(bit))
          requireHeld(grants, new Set(added), parentOf(call.demand.scope))
          yield lockBindings(call.demand.scope)
        },
      }),

    deleteRole: (call: Call) =>
      deleteResource(deps, roles, call, {
        inUse: 'cannot delete role that is still bound, or the default of an identity provider',
      }),
  }
}

export const rolesResource = defineResource({
  kind: roles,
  service: RolesService,
  methods: rolesMethods,
  onStart: seedRoles,
})

/** Whoever acts on a binding of the role has finished before the role changes, and acts on the new one after. */
const lockBindings = (role: string) =>
  sql`select uid from role_bindings where role = ${role} /*pg for no key update */`

/** In ascending order, each once; answers them as bits. */
function tidy(role: Role): Bits {
  const unknown = role.capabilities.find((number) => !capabilityOf(number))
  if (unknown !== undefined) throw invalidField('capabilities', `must be capabilities; ${unknown} is none`)
  if (role.capabilities.length === 0) throw invalidField('capabilities', 'must hold at least one capability')
  role.capabilities = [...new Set(role.capabilities)].sort((a, b) => a - b)
  return bitsOf(role)
}

const bitsOf = ({ capabilities }: Role): Bits =>
  new Set(capabilities.flatMap((number) => capabilityOf(number)?.bit ?? []))
