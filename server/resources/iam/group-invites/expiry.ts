import type { Duration } from '@bufbuild/protobuf/wkt'
import { durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { GroupInvite } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { invalidField } from '../../../aip/errors.ts'

const minTtlMs = 1000
const maxTtlMs = 365 * 24 * 60 * 60 * 1000

/** Sets the expiration time of an invite. */
export function setExpiry(invite: GroupInvite, ttl: Duration | undefined, time: number): void {
  if (!ttl) throw invalidField('ttl', 'is required; send a duration such as 3600s')
  const ttlMs = durationMs(ttl)
  if (ttlMs < minTtlMs || ttlMs > maxTtlMs)
    throw invalidField('ttl', 'must be from 1 second to 365 days, such as 3600s')
  invite.expirationTime = timestampFromMs(time + ttlMs)
}
