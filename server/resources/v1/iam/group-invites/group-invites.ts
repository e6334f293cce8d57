// Invites as v1 has them.
import type {
  DeleteGroupInviteRequest,
  GroupInviteFilter,
  GroupInviteRequest,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  GroupInviteListSchema,
  GroupInviteSchema as OldInviteSchema,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import type { Renaming } from '../../convert.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { inviteOf, oldInviteOf, storedInviteOf } from './conversion.ts'

const v2 = GroupInvitesService.method

const names: Renaming[] = [
  [/^uid$/, 'id'],
  [/^parent$/, 'group'],
  [/^role_uid$/, 'role'],
]

export function groupInvitesOfV1(ask: Ask) {
  return {
    create(call: Call<GroupInviteRequest>) {
      const { group } = call.request
      const asked = ask(call, v2.createGroupInvite, { parent: group, groupInvite: inviteOf(call.request) })
      return converted(inNames(names, asked), OldInviteSchema, oldInviteOf)
    },

    list(call: Call<GroupInviteFilter>) {
      const { group, id, keyId } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listGroupInvites,
        request: { uidp: placeOf(undefined, { id, parent: group }), keyId },
        list: GroupInviteListSchema,
        items: ({ groupInvites }) => groupInvites.map(storedInviteOf),
      })
      return inNames(namesOfPlace('id', 'group'), listing)
    },

    delete(call: Call<DeleteGroupInviteRequest>) {
      return deleted(inNames(names, ask(call, v2.deleteGroupInvite, { uid: call.request.id })))
    },
  }
}
