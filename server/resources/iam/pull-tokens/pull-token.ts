// A pull token as a view of its identity.
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { PullToken } from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import { PullTokenSchema } from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'

/** Without the password, which is not stored. */
export function pullTokenOf(identity: Identity, now: number): PullToken {
  const { uid, name, description, pullToken, relationship, lastSeenTime, createTime, updateTime } = identity
  const { expirationTime } = relationship.case === 'staticKeys' ? relationship.value : {}
  return create(PullTokenSchema, {
    ...{ uid, name, description, username: uid, repoUid: pullToken?.repoUid ?? '' },
    ...(expirationTime && { expirationTime }),
    expired: !expirationTime || timestampMs(expirationTime) <= now,
    ...(lastSeenTime && { lastSeenTime }),
    ...(createTime && { createTime }),
    ...(updateTime && { updateTime }),
  })
}
