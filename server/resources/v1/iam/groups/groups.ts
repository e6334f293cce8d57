// Groups as v1 has them.
import { create } from '@bufbuild/protobuf'
import type {
  CreateGroupRequest,
  DeleteGroupRequest,
  GroupFilter,
  Group as OldGroup,
  RequestGroupAccessRequest,
} from '@stemma/api/gen/platform/iam/group_pb.ts'
import {
  CheckEligibilityResponseSchema,
  GroupListSchema,
  LookupGroupResponseSchema,
  GroupSchema as OldGroupSchema,
  RequestGroupAccessResponseSchema,
} from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { invalidField } from '../../../../aip/errors.ts'
import { isUid } from '../../../../aip/uid.ts'
import type { Call } from '../../../../rpc/call.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { groupOf, oldGroupOf } from './conversion.ts'

const v2 = GroupsService.method

export function groupsOfV1(ask: Ask) {
  /** Names are looked for only among the groups that the caller sees, so nobody learns of others. */
  async function parentOf(call: Call<CreateGroupRequest>): Promise<string> {
    const { parent } = call.request
    if (parent === '' || isUid(parent)) return parent
    const { message } = await inNames(
      [[/^name$/, 'parent']],
      ask(call, v2.listGroups, { name: parent, pageSize: 2 }),
    )
    const [only, ...others] = message.groups
    if (others.length > 0) throw invalidField('parent', 'is the name of several groups; give a uid')
    return only?.uid ?? parent
  }

  return {
    async create(call: Call<CreateGroupRequest>) {
      const { group } = call.request
      const parent = await parentOf(call)
      const asked = ask(call, v2.createGroup, { parent, ...(group && { group: groupOf(group) }) })
      return converted(asked, OldGroupSchema, oldGroupOf)
    },

    update(call: Call<OldGroup>) {
      const group = { uid: call.request.id, ...groupOf(call.request) }
      const asked = ask(call, v2.updateGroup, { group, updateMask: { paths: ['*'] } })
      return converted(inNames([[/^uid$/, 'id']], asked), OldGroupSchema, oldGroupOf)
    },

    list(call: Call<GroupFilter>) {
      const { id, uidp, name } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listGroups,
        request: { uidp: placeOf(uidp, { id }), name },
        list: GroupListSchema,
        items: ({ groups }) => groups.map(oldGroupOf),
      })
      return inNames(namesOfPlace(id && 'id'), listing)
    },

    delete(call: Call<DeleteGroupRequest>) {
      return deleted(inNames([[/^uid$/, 'id']], ask(call, v2.deleteGroup, { uid: call.request.id })))
    },

    lookupGroup: (call: Call) =>
      converted(ask(call, v2.lookupGroup, {}), LookupGroupResponseSchema, ({ group }) =>
        create(LookupGroupResponseSchema, group ? { group: oldGroupOf(group) } : {}),
      ),

    requestGroupAccess(call: Call<RequestGroupAccessRequest>) {
      const asked = ask(call, v2.requestGroupAccess, { groupUid: call.request.groupId })
      return converted(inNames([[/^group_uid$/, 'group_id']], asked), RequestGroupAccessResponseSchema, () =>
        create(RequestGroupAccessResponseSchema),
      )
    },

    checkEligibility: (call: Call) =>
      converted(ask(call, v2.checkEligibility, {}), CheckEligibilityResponseSchema, ({ eligible }) =>
        create(CheckEligibilityResponseSchema, { eligible }),
      ),
  }
}
