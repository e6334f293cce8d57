import type { Retention } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { lineage } from '../../../aip/uid.ts'
import { among, sql } from '../../../store/sql.ts'
import { deleteEntries } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { patternFor } from '../tag-pattern.ts'
import { tags } from '../tags/table.ts'
import { noteUntagged } from '../untagged.ts'
import type { JudgedTag } from './judged-tags.ts'
import { lockRules } from './read-retention.ts'

export type RetentionRun = { repo: string; retention: Retention; now: number }

/**
 * Deletes tags that the rules do not keep, except those that were moved, pushed again, renamed or
 * made immutable meanwhile. Returns the names of the deleted tags; undefined if the rules have
 * changed.
 */
export function* deleteTags(
  access: WriteAccess,
  { repo, retention, now }: RetentionRun,
  judged: readonly JudgedTag[],
): Work<string[] | undefined> {
  const rules = yield* lockRules(repo, retention)
  if (!rules) return undefined
  const rows = yield sql`select uid, name, digest, push_time from tags
    where parent = ${repo} and uid in ${among(judged.map(({ uid }) => uid))} /*pg for update */`
  const current = new Map(rows.map(([uid, ...fields]) => [uid, fields.join()]))
  const doomed = judged.filter(
    ({ uid, name, digest, pushTime }) =>
      current.get(uid) === [name, digest, pushTime].join() &&
      patternFor(name, rules.immutableTags) === undefined,
  )
  if (doomed.length === 0) return []
  const uids = doomed.map(({ uid }) => uid)
  yield noteUntagged(repo, sql`digest in ${among(doomed.map(({ digest }) => digest))}`, now)
  yield* deleteEntries(access, tags.table, uids, lineage(repo))
  return doomed.map(({ name }) => name)
}
