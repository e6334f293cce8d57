// Reads a manifest by its digest or by a tag.
import { create } from '@bufbuild/protobuf'
import type { GetManifestRequest } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ManifestSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import type { RowQuery } from '../../../store/row-query.ts'
import { rowQuery } from '../../../store/row-query.ts'
import type { Placeholder, Placeholders, Row, Sql } from '../../../store/sql.ts'
import { raw, sql } from '../../../store/sql.ts'
import type { Reply } from '../../../wire/reply.ts'
import { unencodedReply } from '../../../wire/reply.ts'

/**
 * `known` is a digest whose content is in memory (known-manifests.ts), or empty. The content in the row is null if the
 * manifest has this digest, or if the request does not ask for it. Reading it takes about a sixth of the CPU time of a
 * pull on SQLite. Only digests contain a colon.
 */
export const manifestRow = (
  { repo, reference, withoutContent }: GetManifestRequest,
  known: string,
): RowQuery => {
  const isDigest = reference.includes(':')
  if (withoutContent)
    return isDigest
      ? rowQuery(selectByDigest, [], [repo, reference])
      : rowQuery(selectByTag, [], [repo, repo, reference])
  return isDigest
    ? rowQuery(selectContentByDigest, [], [known, repo, reference])
    : rowQuery(selectContentByTag, [], [known, repo, repo, reference])
}

const noContent = raw('null')
const contentUnless = (known: Placeholder) => sql`case when m.digest = ${known} then null else m.content end`

const select = (content: Sql) => sql`select m.digest, m.media_type, m.size, ${content} as content`

const selectByDigest = (place: Placeholders<[string, string]>) => sql`${select(noContent)} ${byDigest(place)}`

const selectContentByDigest = ([known, ...place]: Placeholders<[string, string, string]>) =>
  sql`${select(contentUnless(known))} ${byDigest(place)}`

const selectByTag = (place: Placeholders<[string, string, string]>) =>
  sql`${select(noContent)} ${byTag(place)}`

const selectContentByTag = ([known, ...place]: Placeholders<[string, string, string, string]>) =>
  sql`${select(contentUnless(known))} ${byTag(place)}`

const byDigest = ([repo, digest]: Placeholders<[string, string]>) =>
  sql`from manifests m where m.repo = ${repo} and m.digest = ${digest}`

/** Not a join: SQLite would first store its result in a temporary table. */
const byTag = ([repo, parent, name]: Placeholders<[string, string, string]>) =>
  sql`from manifests m
    where m.repo = ${repo} and m.digest = (select digest from tags where parent = ${parent} and name = ${name})`

/** The maximum size of a reply without the content of the manifest. */
const maxFieldBytes = 2048

/** `content` is null if the client does not ask for it. */
export function manifestReply(row: Row, content: Uint8Array | null): Reply {
  const [digest, mediaType, size] = row as [string, string, number]
  const manifest = create(ManifestSchema)
  manifest.digest = digest
  manifest.mediaType = mediaType
  manifest.size = BigInt(size)
  if (content) manifest.content = content
  return unencodedReply(ManifestSchema, manifest, maxFieldBytes + (content?.length ?? 0))
}
