// A group with many groups below it.
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { groups } from '@stemma/server/resources/iam/groups/table.ts'
import { createMany } from '@stemma/server/testing/create-many.ts'
import type { Stage } from './stage.ts'

/** Returns the uid of the group. The groups below it are called `NAME-00000`, `NAME-00001` and so on. */
export async function addManyGroups(stage: Stage, name: string, count: number): Promise<string> {
  const group = await stage.call('POST', `/iam/v2beta1/groups/${stage.organization}`, { name })
  const uid = String(group.uid)
  const now = Date.now()
  const members = Array.from({ length: count }, (_, at) => {
    const draft = create(GroupSchema, { name: `${name}-${String(at).padStart(5, '0')}` })
    return [draft, { uid: `${uid}/${String(at).padStart(16, '0')}`, now }] as const
  })
  await stage.platform.store.write(() => createMany(groups, members))
  return uid
}
