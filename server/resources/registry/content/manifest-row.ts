// Reads a manifest by its digest or by a tag.
import { create } from '@bufbuild/protobuf'
import type { GetManifestRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ManifestSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import type { RowQuery } from '../../../store/row-query.ts'
import { rowQuery } from '../../../store/row-query.ts'
import type { Placeholders, Row } from '../../../store/sql.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { Reply } from '../../../wire/reply.ts'
import { unencodedReply } from '../../../wire/reply.ts'

/** Only digests contain a colon. */
export const manifestRow = ({ repo, reference, withoutContent }: GetManifestRequest): RowQuery =>
  reference.includes(':')
    ? rowQuery(selectByDigest, [withoutContent], [repo, reference])
    : rowQuery(selectByTag, [withoutContent], [repo, repo, reference])

const columns = (withoutContent: boolean) =>
  raw(`select m.digest, m.media_type, m.size, ${withoutContent ? 'null' : 'm.content'} as content`)

const selectByDigest = ([repo, digest]: Placeholders<[string, string]>, withoutContent: boolean) =>
  sql`${columns(withoutContent)} from manifests m where m.repo = ${repo} and m.digest = ${digest}`

/** Not a join: SQLite would first store its result in a temporary table. */
const selectByTag = ([repo, parent, name]: Placeholders<[string, string, string]>, withoutContent: boolean) =>
  sql`${columns(withoutContent)} from manifests m
    where m.repo = ${repo} and m.digest = (select digest from tags where parent = ${parent} and name = ${name})`

/** Of all fields of a manifest without its content. */
const maxFieldBytes = 2048

export function manifestReply(row: Row): Reply {
  const [digest, mediaType, size, content] = row as [string, string, number, Uint8Array | null]
  const manifest = create(ManifestSchema)
  manifest.digest = digest
  manifest.mediaType = mediaType
  manifest.size = BigInt(size)
  if (content) manifest.content = content
  return unencodedReply(ManifestSchema, manifest, maxFieldBytes + (content?.length ?? 0))
}
