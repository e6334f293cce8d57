// Invites of v2 as v1 tells them; what v1 asks for is flat.
import { create } from '@bufbuild/protobuf'
import type {
  GroupInviteRequest,
  GroupInvite as OldInvite,
  StoredGroupInvite,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import {
  GroupInviteSchema as OldInviteSchema,
  StoredGroupInviteSchema,
} from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import type { GroupInvite } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { nameOf } from '../../../../policy/capabilities.ts'

export const inviteOf = ({ ttl, role, email, singleUse }: GroupInviteRequest) => ({
  ...{ roleUid: role, email, singleUse },
  ...(ttl && { ttl }),
})

/** With the code, as long as it is told. */
export const oldInviteOf = (invite: GroupInvite): OldInvite =>
  create(OldInviteSchema, { ...toldOf(invite), code: invite.code ?? '' })

export function storedInviteOf(invite: GroupInvite): StoredGroupInvite {
  const { email, singleUse, createTime } = invite
  return create(StoredGroupInviteSchema, {
    ...{ ...toldOf(invite), email, singleUse },
    ...(createTime && { createdAt: createTime }),
  })
}

const toldOf = ({ uid, keyId, roleUid, role, expirationTime }: GroupInvite) => ({
  ...{ id: uid, keyId },
  role: {
    id: roleUid,
    name: role?.name ?? '',
    description: role?.description ?? '',
    capabilities: role?.capabilities.map(nameOf) ?? [],
  },
  ...(expirationTime && { expiration: expirationTime }),
})
