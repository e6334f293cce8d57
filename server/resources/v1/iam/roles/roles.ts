import type {
  CreateRoleRequest,
  DeleteRoleRequest,
  RoleFilter,
  Role as V1Role,
} from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RoleListSchema, Roles, RoleSchema as V1RoleSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { invalidField, StatusError } from '../../../../aip/errors.ts'
import { capabilityNamed } from '../../../../policy/capabilities.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { roleFromV1, roleToV1 } from './conversion.ts'

const v2 = RolesService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'parent_id'],
]

export const rolesV1 = defineService({ service: Roles, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  return {
    create(call: Call<CreateRoleRequest>) {
      const { parentId, role } = call.request
      const v2Reply = callV2(call, v2.createRole, {
        parent: parentId,
        ...(role && { role: roleFromV1(role) }),
      })
      const reply = nameUnknownCapability(role, renameErrorFields(renames, v2Reply))
      return convertReply(reply, V1RoleSchema, roleToV1)
    },

    update(call: Call<V1Role>) {
      const role = { uid: call.request.id, ...roleFromV1(call.request) }
      const v2Reply = callV2(call, v2.updateRole, { role, updateMask: { paths: ['*'] } })
      const reply = nameUnknownCapability(call.request, renameErrorFields(renames, v2Reply))
      return convertReply(reply, V1RoleSchema, roleToV1)
    },

    list(call: Call<RoleFilter>) {
      const { id, name, parent, uidp } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listRoles,
        request: { uidp: uidpFilter(uidp, { id, parent }), name },
        list: RoleListSchema,
        items: ({ roles }) => roles.map(roleToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id', parent && 'parent'), listing)
    },

    delete(call: Call<DeleteRoleRequest>) {
      const reply = callV2(call, v2.deleteRole, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}

/** In characters. A caller can send a name of any length, so an error quotes only its beginning. */
const maxQuotedLength = 100

/** Puts the name of an unknown capability into the error: v2 received only a number and cannot report the name. */
async function nameUnknownCapability<T>(role: V1Role | undefined, reply: Promise<T>): Promise<T> {
  try {
    return await reply
  } catch (error) {
    const unknown = role?.capabilities.find((name) => !capabilityNamed(name))
    const isAboutCapabilities =
      error instanceof StatusError && error.violations.some(({ field }) => field === 'capabilities')
    if (unknown === undefined || !isAboutCapabilities) throw error
    const name = JSON.stringify(unknown.slice(0, maxQuotedLength).toWellFormed())
    throw invalidField(
      'capabilities',
      `must be names of capabilities, such as groups.list; ${name} is not one`,
    )
  }
}
