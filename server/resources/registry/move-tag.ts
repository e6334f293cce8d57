// Creates tags and moves them to other images. Every move is recorded in the history of the tag.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Tag } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { Code } from '../../aip/code.ts'
import { permissionDenied, StatusError } from '../../aip/errors.ts'
import { newChildUid, parentOf } from '../../aip/uid.ts'
import type { WriteGrants } from '../../policy/admit.ts'
import { nameOf } from '../../policy/capabilities.ts'
import { holds } from '../../policy/grants.ts'
import type { Sql } from '../../store/sql.ts'
import { sql } from '../../store/sql.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { createIn } from '../create.ts'
import type { Dependencies } from '../dependencies.ts'
import { lockResource, nextUpdateTime, replaceResource } from '../stored-resource.ts'
import { patternsIn, requireMutable } from './immutable-tags.ts'
import { readTagContent, refreshTag, setTagContent } from './tag-content.ts'
import { tags } from './tags/table.ts'

/** Another call has just created or deleted the tag. If the transaction runs again, it finds what the other call did. */
export class TagRace extends StatusError {}

const maxRuns = 3

/** Runs a transaction again if it has lost a race for a tag. Clients do not repeat a push or a create that is refused. */
export async function retryTagRace<T>(run: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs++) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof TagRace) || runs === maxRuns) throw error
    }
  }
}

/**
 * `movedFrom` is the digest that the tag had before; empty if the digest is the same or the tag is new. The caller
 * passes it to `noteEachUntagged`.
 */
export type PlacedTag = { uid: string; movedFrom: string }

type TagContext = Pick<Dependencies, 'now' | 'random'> & { access: WriteGrants }

/**
 * Creates the tag or, if the repo has a tag of this name, moves it; a draft without a digest then changes the other
 * fields only. Creating and moving need different capabilities.
 */
export function* createOrMove(context: TagContext, repo: string, draft: Tag): Work<PlacedTag> {
  // The lock lasts until the transaction ends, like that of lockRepo: meanwhile, no manifest of the repo is deleted.
  const row = yield* first(sql`select t.uid, r.immutable_tags from tags t join repos r on r.uid = t.parent
    where t.parent = ${repo} and t.name = ${draft.name} /*pg for key share of r */`)
  const { access, now, random } = context
  requireTagAccess(access, row ? Capability.CAP_TAG_UPDATE : Capability.CAP_TAG_CREATE, repo)
  if (row) return yield* move(context, row[0] as string, draft, patternsIn(row[1]))
  if (draft.digest !== '') setTagContent(draft, yield* readTagContent(repo, draft.digest))
  const time = now()
  const uid = newChildUid(repo, time, random)
  try {
    yield* createIn(access, repo, tags, draft, { uid, now: time, columns: { push_time: time } })
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'unique') throw error
    throw new TagRace(Code.ABORTED, 'another call has just created this tag; try again')
  }
  if (draft.digest !== '') yield recordMove(uid, time, draft.digest)
  return { uid, movedFrom: '' }
}

function requireTagAccess(grants: WriteGrants, capability: Capability, repo: string): void {
  if (!holds(grants, [capability], repo)) throw permissionDenied(nameOf(capability), repo)
}

function* move(
  { access, now }: TagContext,
  uid: string,
  draft: Tag,
  immutable: readonly string[],
): Work<PlacedTag> {
  const stored = yield* lockResource(tags, uid)
  if (stored?.resource.name !== draft.name)
    throw new TagRace(Code.ABORTED, 'the tag was deleted or renamed meanwhile; try again')
  const { createTime, deprecated, bundles } = stored.resource
  const digest = draft.digest || stored.resource.digest
  const isMoved = digest !== stored.resource.digest
  // A tag that names no image yet can get one.
  if (isMoved && stored.resource.digest !== '') requireMutable(draft.name, immutable, 'moved')
  const content = yield* readTagContent(parentOf(uid), digest)
  if (!isMoved && deprecated === draft.deprecated && bundles.join() === draft.bundles.join()) {
    yield* refreshTag(access, stored, content)
    yield sql`update tags set push_time = ${now()} where uid = ${uid}`
    return { uid, movedFrom: '' }
  }
  const updateTime = nextUpdateTime(now(), stored.updateTime)
  const moved = create(TagSchema, { ...draft, digest, uid, updateTime: timestampFromMs(updateTime) })
  if (createTime) moved.createTime = createTime
  setTagContent(moved, content)
  yield* replaceResource(access, tags, moved, { uid, updateTime, columns: { push_time: updateTime } })
  if (isMoved) yield recordMove(uid, updateTime, digest)
  return { uid, movedFrom: isMoved ? stored.resource.digest : '' }
}

/**
 * Points tags to the digest. Creates those that the repo does not have, and moves the others
 * without changing their other fields. Returns the digests from which tags were moved. The names
 * must be sorted.
 */
export function* pointTags(
  context: TagContext,
  repo: string,
  names: readonly string[],
  digest: string,
): Work<string[]> {
  const movedFrom: string[] = []
  for (const name of names) {
    const row = yield* first(sql`select uid from tags where parent = ${repo} and name = ${name}`)
    const stored = row && (yield* lockResource(tags, row[0] as string))
    const { deprecated, bundles } = stored?.resource ?? {}
    const kept = { ...(deprecated !== undefined && { deprecated }), ...(bundles && { bundles }) }
    const placed = yield* createOrMove(context, repo, create(TagSchema, { ...kept, name, digest }))
    if (placed.movedFrom !== '') movedFrom.push(placed.movedFrom)
  }
  return movedFrom
}

export const recordMove = (tag: string, time: number, digest: string): Sql =>
  sql`insert into tag_history (tag, update_time, digest) values (${tag}, ${time}, ${digest})`
