// Groups of v1 made into those of v2, and the other way round.
import { create } from '@bufbuild/protobuf'
import type { Group as OldGroup } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupSchema as OldGroupSchema } from '@stemma/api/gen/platform/iam/group_pb.ts'
import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'

/** What callers set. In v2, no kind is another than an unspecified one. */
export const groupOf = ({ name, description, verified, kind }: OldGroup) => ({
  ...{ name, description, verified },
  ...(kind !== 0 && { kind }),
})

export function oldGroupOf({ uid, kind = 0, status = 0, ...group }: Group): OldGroup {
  const { name, description, resourceLimits, verified } = group
  return create(OldGroupSchema, {
    ...{ id: uid, name, description, resourceLimits, verified, kind, status },
  })
}
