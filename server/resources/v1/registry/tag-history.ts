// Lists the digests that a tag has had. v2 has no call for this.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { TagHistoryFilter } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagHistoryListSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import { all, first } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { V1Dependencies } from '../dependencies.ts'

const maxItems = 1000

export const tagHistoryMethods = ({ store }: V1Dependencies) => ({
  listTagHistory: (call: Call<TagHistoryFilter>) =>
    store.read(function* () {
      yield* admitToRead(call.demand)
      const { parentId, start, end } = call.request
      const tag = yield* first(sql`select 1 from tags where uid = ${parentId}`)
      if (!tag) throw notFound(TagSchema.typeName, parentId)
      const [from, to] = [start ? timestampMs(start) : 0, end ? timestampMs(end) : Number.MAX_SAFE_INTEGER]
      const rows = yield* all(sql`select update_time, digest from tag_history
        where tag = ${parentId} and update_time >= ${from} and update_time < ${to}
        order by update_time desc limit ${maxItems}`)
      const items = rows.map(([time, digest]) => ({
        updateTimestamp: timestampFromMs(time as number),
        digest: digest as string,
      }))
      return messageReply(TagHistoryListSchema, create(TagHistoryListSchema, { items }))
    }),
})
