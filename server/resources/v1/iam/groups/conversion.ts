// Converts groups between v1 and v2.
import { create } from '@bufbuild/protobuf'
import type { Group as V1Group } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupSchema as V1GroupSchema } from '@stemma/api/gen/platform/iam/group_pb.ts'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { v1LimitName } from '../../../../limits/quota/limit-names.ts'

/** The fields that callers set. v2 distinguishes an absent kind from an unspecified one; v1 has only 0 for both. */
export const groupFromV1 = ({ name, description, verified, kind }: V1Group) => ({
  ...{ name, description, verified },
  ...(kind !== 0 && { kind }),
})

export function groupToV1({ uid, kind = 0, status = 0, ...group }: Group): V1Group {
  const { name, description, verified } = group
  const limits = Object.entries(group.resourceLimits).map(([kind, limit]) => [v1LimitName(kind), limit])
  const resourceLimits: V1Group['resourceLimits'] = Object.fromEntries(limits)
  return create(V1GroupSchema, {
    ...{ id: uid, name, description, resourceLimits, verified, kind, status },
  })
}
