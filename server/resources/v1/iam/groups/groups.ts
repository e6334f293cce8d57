import { create } from '@bufbuild/protobuf'
import type {
  CreateGroupRequest,
  DeleteGroupRequest,
  GroupFilter,
  RequestGroupAccessRequest,
  Group as V1Group,
} from '@stemma/api/gen/platform/iam/group_pb.ts'
import {
  CheckEligibilityResponseSchema,
  GroupListSchema,
  Groups,
  LookupGroupResponseSchema,
  RequestGroupAccessResponseSchema,
  GroupSchema as V1GroupSchema,
} from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { invalidField } from '../../../../aip/errors.ts'
import { isUid } from '../../../../aip/uid.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import type { CallV2 } from '../../call-v2.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { groupFromV1, groupToV1 } from './conversion.ts'

const v2 = GroupsService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^group_uid$/, 'group_id'],
]

export const groupsV1 = defineService({ service: Groups, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  return {
    async create(call: Call<CreateGroupRequest>) {
      const { group } = call.request
      const parent = await findParent(callV2, call)
      const reply = callV2(call, v2.createGroup, { parent, ...(group && { group: groupFromV1(group) }) })
      return convertReply(reply, V1GroupSchema, groupToV1)
    },

    update(call: Call<V1Group>) {
      const group = { uid: call.request.id, ...groupFromV1(call.request) }
      const reply = callV2(call, v2.updateGroup, { group, updateMask: { paths: ['*'] } })
      return convertReply(renameErrorFields(renames, reply), V1GroupSchema, groupToV1)
    },

    list(call: Call<GroupFilter>) {
      const { id, uidp, name } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listGroups,
        request: { uidp: uidpFilter(uidp, { id }), name },
        list: GroupListSchema,
        items: ({ groups }) => groups.map(groupToV1),
      })
      return renameErrorFields(uidpFieldRenames(id && 'id'), listing)
    },

    delete(call: Call<DeleteGroupRequest>) {
      const reply = callV2(call, v2.deleteGroup, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },

    lookupGroup: (call: Call) =>
      convertReply(callV2(call, v2.lookupGroup, {}), LookupGroupResponseSchema, ({ group }) =>
        create(LookupGroupResponseSchema, group ? { group: groupToV1(group) } : {}),
      ),

    requestGroupAccess(call: Call<RequestGroupAccessRequest>) {
      const reply = callV2(call, v2.requestGroupAccess, { groupUid: call.request.groupId })
      return convertReply(renameErrorFields(renames, reply), RequestGroupAccessResponseSchema, () =>
        create(RequestGroupAccessResponseSchema),
      )
    },

    checkEligibility: (call: Call) =>
      convertReply(callV2(call, v2.checkEligibility, {}), CheckEligibilityResponseSchema, ({ eligible }) =>
        create(CheckEligibilityResponseSchema, { eligible }),
      ),
  }
}

/** v1 accepts a name for the parent. Only groups that the caller may see are searched, so others stay secret. */
async function findParent(callV2: CallV2, call: Call<CreateGroupRequest>): Promise<string> {
  const { parent } = call.request
  if (parent === '' || isUid(parent)) return parent
  const reply = callV2(call, v2.listGroups, { name: parent, pageSize: 2 })
  const { message } = await renameErrorFields([[/^name$/, 'parent']], reply)
  const [group, ...others] = message.groups
  if (others.length > 0) throw invalidField('parent', 'is the name of several groups; use a uid')
  return group?.uid ?? parent
}
