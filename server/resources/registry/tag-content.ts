// The fields of a tag that describe its image. They are empty if the repo does not have the image.
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { asUpkeep } from '../../store/write-access.ts'
import { lockResource, replaceResource } from '../stored-resource.ts'
import { tags } from './tags/table.ts'

/** `size` is undefined if it is not known. */
export type TagContent = { size: bigint | undefined; mediaType: string; platforms: string[] }

const noContent: TagContent = { size: undefined, mediaType: '', platforms: [] }

/** The platforms in a column of the store. */
export const platformsIn = (column: string): string[] => (column === '' ? [] : column.split(','))

export function* readTagContent(repo: string, digest: string): Work<TagContent> {
  const row = yield* first(sql`select media_type, total_size, platforms from manifests
    where repo = ${repo} and digest = ${digest}`)
  if (!row) return noContent
  const [mediaType, totalSize, platforms] = row as [string, number, string]
  return {
    size: totalSize < 0 ? undefined : BigInt(totalSize),
    ...{ mediaType, platforms: platformsIn(platforms) },
  }
}

export function setTagContent(tag: Tag, { size, mediaType, platforms }: TagContent): void {
  if (size === undefined) delete tag.size
  else tag.size = size
  Object.assign(tag, { mediaType, platforms })
}

/** Limits the size of a transaction. Further tags show the content when they are pushed or updated again. */
const maxRefreshed = 1000

/** Updates the tags that name a manifest, after it was pushed or its platforms became known. */
export function* refreshTags(access: WriteAccess, repo: string, digest: string): Work<void> {
  const rows =
    yield sql`select uid from tags where parent = ${repo} and digest = ${digest} limit ${maxRefreshed}`
  if (rows.length === 0) return
  const content = yield* readTagContent(repo, digest)
  for (const [uid] of rows) {
    const stored = yield* lockResource(tags, uid as string)
    if (stored?.resource.digest === digest) yield* refreshTag(access, stored, content)
  }
}

/** Keeps the update time: the tag itself has not changed. */
export function* refreshTag(
  access: WriteAccess,
  { resource, updateTime }: { resource: Tag; updateTime: number },
  content: TagContent,
): Work<void> {
  if (hasContent(resource, content)) return
  setTagContent(resource, content)
  yield* replaceResource(asUpkeep(access), tags, resource, { uid: resource.uid, updateTime })
}

const hasContent = (tag: Tag, { size, mediaType, platforms }: TagContent) =>
  tag.size === size && tag.mediaType === mediaType && tag.platforms.join() === platforms.join()
