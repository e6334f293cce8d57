// Lists the manifests that describe another one, in pages with a limited number of manifests and size of annotations.
import { create } from '@bufbuild/protobuf'
import type { ListReferrersRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ListReferrersResponseSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'

const maxReferrers = 100
/** For all annotations of a page: those of one manifest can take megabytes. */
const maxAnnotationsLength = 2 ** 20

/** A repo that does not exist has no referrers: the protocol has no error for it. */
export function* referrersReply(request: ListReferrersRequest): Work<Reply> {
  const { repo, subject, artifactType, after } = request
  const filter = artifactType === '' ? raw('') : sql`and artifact_type = ${artifactType}`
  const lengths = yield sql`select digest, length(annotations) from manifests
    where repo = ${repo} and subject = ${subject} and digest > ${after} ${filter}
    order by digest limit ${maxReferrers + 1}`
  const page = digestsOfPage(lengths as [string, number][])
  const rows =
    page.length === 0
      ? []
      : yield sql`select digest, media_type, size, artifact_type, annotations from manifests
          where repo = ${repo} and digest in ${among(page)} order by digest`
  const referrers = rows.map(([digest, mediaType, size, type, annotations]) => ({
    ...{ digest: digest as string, mediaType: mediaType as string, size: BigInt(size as number) },
    artifactType: type as string,
    annotations: JSON.parse(annotations as string) as Record<string, string>,
  }))
  return messageReply(
    ListReferrersResponseSchema,
    create(ListReferrersResponseSchema, { referrers, hasMore: page.length < lengths.length }),
  )
}

/** At least the first one, whatever its size. */
function digestsOfPage(lengths: readonly [digest: string, length: number][]): string[] {
  const page: string[] = []
  let total = 0
  for (const [digest, length] of lengths.slice(0, maxReferrers)) {
    total += length
    if (page.length > 0 && total > maxAnnotationsLength) break
    page.push(digest)
  }
  return page
}
