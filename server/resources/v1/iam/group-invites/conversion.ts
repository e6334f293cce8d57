// Converts group invites between v1 and v2.
import { create } from '@bufbuild/protobuf'
import type {
  GroupInviteRequest,
  StoredGroupInvite,
  GroupInvite as V1Invite,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  StoredGroupInviteSchema,
  GroupInviteSchema as V1InviteSchema,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import type { GroupInvite } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { nameOf } from '../../../../policy/capabilities.ts'

export const inviteFromV1 = ({ ttl, role, email, singleUse }: GroupInviteRequest) => ({
  ...{ roleUid: role, email, singleUse },
  ...(ttl && { ttl }),
})

/** The invite with its code, which v2 returns only on creation. */
export const inviteToV1 = (invite: GroupInvite): V1Invite =>
  create(V1InviteSchema, { ...sharedFields(invite), code: invite.code ?? '' })

export function storedInviteToV1(invite: GroupInvite): StoredGroupInvite {
  const { email, singleUse, createTime } = invite
  return create(StoredGroupInviteSchema, {
    ...{ ...sharedFields(invite), email, singleUse },
    ...(createTime && { createdAt: createTime }),
  })
}

const sharedFields = ({ uid, keyId, roleUid, role, expirationTime }: GroupInvite) => ({
  ...{ id: uid, keyId },
  role: {
    id: roleUid,
    name: role?.name ?? '',
    description: role?.description ?? '',
    capabilities: role?.capabilities.map(nameOf) ?? [],
  },
  ...(expirationTime && { expiration: expirationTime }),
})
