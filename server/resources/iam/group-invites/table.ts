import { timestampMs } from '@bufbuild/protobuf/wkt'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { hydrated } from '../../hydration.ts'
import { kindOf } from '../../kind.ts'
import { roles } from '../roles/table.ts'

const name = 'group_invites'

export const groupInvites = kindOf(GroupInviteSchema, name, {
  columns: {
    role: ({ roleUid }) => roleUid,
    key_id: ({ keyId }) => keyId,
    expire_time: ({ expirationTime }) => (expirationTime ? timestampMs(expirationTime) : 0),
  },
  /** The digest of the code, which is not stored itself, and the identity that created the invite. */
  extraColumns: { digest: 'text', creator: 'text' },
  hiddenFields: { digest: 'code' },
  rendered: hydrated(name, [
    { from: roles, by: 'role', json: 'invite_json', bytes: 'invite_bytes', isOptional: true },
  ]),
  sortable: { expiration_time: 'expire_time', expirationTime: 'expire_time' },
  defaultOrder: [{ column: 'create_time', descending: true }],
})
