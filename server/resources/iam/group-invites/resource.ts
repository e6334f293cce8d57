// Invites. A person who signs in with the code of an invite gets its role.
import type {
  CreateGroupInviteRequest,
  ListGroupInvitesRequest,
  UpdateGroupInviteRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import {
  GroupInviteSchema,
  GroupInvitesService,
} from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { parentOf } from '../../../aip/uid.ts'
import { digestOf } from '../../../crypto/digest.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { withOneTimeField } from '../../one-time-field.ts'
import { requireFreshSignInForRole } from '../../ownership.ts'
import { defineResource } from '../../resource.ts'
import { updateResource } from '../../update.ts'
import { requireDelegable } from '../delegation.ts'
import { inviteUrl, makeCode } from './code.ts'
import { setExpiry } from './expiry.ts'
import { groupInvites } from './table.ts'

function groupInvitesMethods(deps: Dependencies) {
  const { store, random } = deps

  return {
    getGroupInvite: (call: Call) => getResource(store, groupInvites, call),

    listGroupInvites: (call: Call<ListGroupInvitesRequest>) =>
      listResources(deps, groupInvites, call, {
        filters: [
          ...equalTo(raw('key_id'), call.request.keyId),
          ...(call.request.unexpired ? [sql`expire_time > ${deps.now()}`] : []),
        ],
      }),

    createGroupInvite(call: Call<CreateGroupInviteRequest>) {
      const group = call.demand.scope
      const { code, keyId } = makeCode(group, random)
      return createResource(deps, groupInvites, call, {
        *beforeCreate(draft, { grants, time }) {
          setExpiry(draft, draft.ttl, time)
          draft.keyId = keyId
          yield* requireDelegable(grants, group, draft.roleUid, 'role_uid')
          yield* requireFreshSignInForRole(deps, grants.caller, draft.roleUid)
          return { digest: digestOf(code), creator: grants.caller.identity }
        },
        complete: (reply) =>
          withOneTimeField(
            withOneTimeField(reply, GroupInviteSchema.field.code, code),
            ...([GroupInviteSchema.field.url, inviteUrl(deps.settings.authUrl, code)] as const),
          ),
      })
    },

    updateGroupInvite: (call: Call<UpdateGroupInviteRequest>) =>
      updateResource(deps, groupInvites, call, {
        *beforeUpdate({ current, merged, grants, time }) {
          if (merged.ttl) setExpiry(merged, merged.ttl, time)
          yield* requireDelegable(grants, parentOf(call.demand.scope), merged.roleUid, 'role_uid')
          yield* requireFreshSignInForRole(deps, grants.caller, current.roleUid, merged.roleUid)
        },
      }),

    deleteGroupInvite: (call: Call) => deleteResource(deps, groupInvites, call, { isIdempotent: true }),
  }
}

export const groupInvitesResource = defineResource({
  kind: groupInvites,
  service: GroupInvitesService,
  methods: groupInvitesMethods,
})
