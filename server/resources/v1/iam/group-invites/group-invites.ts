import type {
  DeleteGroupInviteRequest,
  GroupInviteFilter,
  GroupInviteRequest,
  GroupInviteWithGroupRequest,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  GroupInviteListSchema,
  GroupInvites,
  GroupInviteSchema as V1InviteSchema,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { messageReply } from '../../../../wire/reply.ts'
import { createOnce } from '../../../create-once.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { inviteFromV1, inviteToV1, storedInviteToV1 } from './conversion.ts'

const v2 = GroupInvitesService.method

const renames: FieldRename[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'group'],
  [/^role_uid$/, 'role'],
]

export const groupInvitesV1 = defineService({ service: GroupInvites, methods })

function methods(deps: V1Dependencies) {
  const { callV2, ownerInvites } = deps
  return {
    create(call: Call<GroupInviteRequest>) {
      const { group } = call.request
      const reply = callV2(call, v2.createGroupInvite, {
        parent: group,
        groupInvite: inviteFromV1(call.request),
      })
      return convertReply(renameErrorFields(renames, reply), V1InviteSchema, inviteToV1)
    },

    /** v2 has no such call, so this one is not converted. */
    createWithGroup: (call: Call<GroupInviteWithGroupRequest>) =>
      createOnce(
        deps,
        call,
        function* (grants) {
          return messageReply(V1InviteSchema, inviteToV1(yield* ownerInvites.create(call, grants)))
        },
        () => ownerInvites.admit(call),
      ),

    list(call: Call<GroupInviteFilter>) {
      const { group, id, keyId } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listGroupInvites,
        request: { uidp: uidpFilter(undefined, { id, parent: group }), keyId },
        list: GroupInviteListSchema,
        items: ({ groupInvites }) => groupInvites.map(storedInviteToV1),
      })
      return renameErrorFields(uidpFieldRenames('id', 'group'), listing)
    },

    delete(call: Call<DeleteGroupInviteRequest>) {
      const reply = callV2(call, v2.deleteGroupInvite, { uid: call.request.id })
      return deleteReply(renameErrorFields(renames, reply))
    },
  }
}
