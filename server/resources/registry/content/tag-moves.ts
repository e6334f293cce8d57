// The images to which a tag was moved.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ListTagMovesRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ListTagMovesResponseSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { noManifest } from './content-errors.ts'
import { throwMissing } from './require-repo.ts'

const maxMoves = 1000

export function* tagMovesReply({ repo, name, start, end }: ListTagMovesRequest): Work<Reply> {
  const tag = yield* first(sql`select uid from tags where parent = ${repo} and name = ${name}`)
  if (!tag) return yield* throwMissing(repo, noManifest(name))
  const [from, to] = [start ? timestampMs(start) : 0, end ? timestampMs(end) : Number.MAX_SAFE_INTEGER]
  const rows = yield sql`select update_time, digest from tag_history
    where tag = ${tag[0] as string} and update_time >= ${from} and update_time < ${to}
    order by update_time desc limit ${maxMoves}`
  const moves = rows.toReversed().map(([time, digest]) => ({
    ...{ time: timestampFromMs(time as number), digest: digest as string },
  }))
  return messageReply(ListTagMovesResponseSchema, create(ListTagMovesResponseSchema, { moves }))
}
