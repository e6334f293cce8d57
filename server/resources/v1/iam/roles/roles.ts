// Roles as v1 has them.
import type {
  CreateRoleRequest,
  DeleteRoleRequest,
  Role as OldRole,
  RoleFilter,
} from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RoleSchema as OldRoleSchema, RoleListSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { invalidField, StatusError } from '../../../../aip/errors.ts'
import { capabilityNamed } from '../../../../policy/capabilities.ts'
import type { Call } from '../../../../rpc/call.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { oldRoleOf, roleOf } from './conversion.ts'

const v2 = RolesService.method

export function rolesOfV1(ask: Ask) {
  return {
    create(call: Call<CreateRoleRequest>) {
      const { parentId, role } = call.request
      const asked = ask(call, v2.createRole, { parent: parentId, ...(role && { role: roleOf(role) }) })
      const named = namingUnknown(role, inNames([[/^parent$/, 'parent_id']], asked))
      return converted(named, OldRoleSchema, oldRoleOf)
    },

    update(call: Call<OldRole>) {
      const role = { uid: call.request.id, ...roleOf(call.request) }
      const asked = ask(call, v2.updateRole, { role, updateMask: { paths: ['*'] } })
      const named = namingUnknown(call.request, inNames([[/^uid$/, 'id']], asked))
      return converted(named, OldRoleSchema, oldRoleOf)
    },

    list(call: Call<RoleFilter>) {
      const { id, name, parent, uidp } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listRoles,
        request: { uidp: placeOf(uidp, { id, parent }), name },
        list: RoleListSchema,
        items: ({ roles }) => roles.map(oldRoleOf),
      })
      return inNames(namesOfPlace(id && 'id', parent && 'parent'), listing)
    },

    delete(call: Call<DeleteRoleRequest>) {
      return deleted(inNames([[/^uid$/, 'id']], ask(call, v2.deleteRole, { uid: call.request.id })))
    },
  }
}

/** v2 was asked with numbers, so it cannot say which name is none. */
async function namingUnknown<T>(role: OldRole | undefined, telling: Promise<T>): Promise<T> {
  try {
    return await telling
  } catch (error) {
    const unknown = role?.capabilities.find((name) => !capabilityNamed(name))
    const isAbout =
      error instanceof StatusError && error.violations.some(({ field }) => field === 'capabilities')
    if (unknown === undefined || !isAbout) throw error
    const name = JSON.stringify(unknown.slice(0, 100).toWellFormed())
    throw invalidField('capabilities', `must be names of capabilities, such as groups.list; ${name} is none`)
  }
}
