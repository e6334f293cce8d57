// Manifests that retention deletes: those that have had no tag for long enough. A manifest of an index is kept with the
// index, and a referrer with its subject.
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { releaseBlobs } from '../release-content.ts'
import { removeManifest } from '../remove-manifest.ts'
import type { RetentionRun } from './delete-unkept-tags.ts'
import { lockRules } from './read-retention.ts'

export const manifestsPerRead = 500

export type UntaggedManifest = { digest: string; untaggedSince: number }
export type ManifestPage = { manifests: UntaggedManifest[]; last: UntaggedManifest | undefined }

export const hasTag = sql`exists (select 1 from tags t where t.parent = m.repo and t.digest = m.digest)`
const isInIndex = sql`exists (select 1 from manifest_references r
  where r.repo = m.repo and r.digest = m.digest and r.kind = 'manifest')`
export const hasSubject = sql`m.subject is not null and exists (select 1 from manifests s
  where s.repo = m.repo and s.digest = m.subject)`

/**
 * Reads the next page of manifests that have been untagged since `cutoff` or earlier. Of these,
 * `manifests` are those to delete. `last` is the last manifest of the page; undefined if there are
 * no more pages.
 */
export function* readUntagged(repo: string, cutoff: number, after?: UntaggedManifest): Work<ManifestPage> {
  const { digest: afterDigest = '', untaggedSince = -1 } = after ?? {}
  const rows = yield sql`select m.digest, m.untagged_since,
      case when ${hasTag} or ${isInIndex} or (${hasSubject}) then 1 else 0 end
    from manifests m where m.repo = ${repo} and m.untagged_since <= ${cutoff}
      and (m.untagged_since, m.digest) > (${untaggedSince}, ${afterDigest})
    order by m.untagged_since, m.digest limit ${manifestsPerRead}`
  const examined = rows.map(([digest, time, isUsed]) => ({
    ...{ digest: digest as string, untaggedSince: time as number, isUsed: isUsed === 1 },
  }))
  const last = examined.length < manifestsPerRead ? undefined : examined.at(-1)
  return { manifests: examined.filter(({ isUsed }) => !isUsed), last }
}

/** Manifests that refer to the subject, have no tag and are in no index. */
function* readReferrers(repo: string, subject: string, limit: number): Work<string[]> {
  const rows = yield sql`select m.digest from manifests m where m.repo = ${repo} and m.subject = ${subject}
    and not ${hasTag} and not ${isInIndex} order by m.digest limit ${limit}`
  return rows.map(([digest]) => digest as string)
}

/** A transaction deletes no further manifests after this many, or after manifests with this many references. */
const manifestsPerWrite = 20
const referencesPerWrite = 2000

type Progress = { deleted: string[]; references: number }

const isFull = ({ deleted, references }: Progress) =>
  deleted.length >= manifestsPerWrite || references >= referencesPerWrite

/**
 * Deletes manifests, with their referrers, if they are still untagged. Stops when the transaction is full. Returns the
 * digests of all deleted manifests, including the referrers; undefined if the rules have changed.
 */
export function* deleteUntagged(
  access: WriteAccess,
  { repo, retention, now }: RetentionRun,
  cutoff: number,
  manifests: readonly UntaggedManifest[],
): Work<string[] | undefined> {
  if (!(yield* lockRules(repo, retention))) return undefined
  const progress: Progress = { deleted: [], references: 0 }
  for (const { digest } of manifests) {
    if (isFull(progress)) break
    const row = yield* first(sql`select 1 from manifests m where m.repo = ${repo} and m.digest = ${digest}
      and m.untagged_since <= ${cutoff} and not ${hasTag} and not ${isInIndex} and not (${hasSubject})`)
    if (row) yield* deleteWithReferrers(access, repo, digest, now, progress)
  }
  return progress.deleted
}

/**
 * How many levels of referrers are deleted with a manifest; a referrer can have referrers. Those at deeper levels lose
 * their subject, and are deleted when they themselves have been untagged for long enough.
 */
const maxLevels = 100

/** Referrers first: if they are too many for this transaction, the subject stays until the next one. */
function* deleteWithReferrers(
  access: WriteAccess,
  repo: string,
  digest: string,
  now: number,
  progress: Progress,
): Work<void> {
  const path = [{ digest, referrers: yield* readReferrers(repo, digest, manifestsPerWrite) }]
  for (let level = path.at(-1); level && !isFull(progress); level = path.at(-1)) {
    const referrer = level.referrers.shift()
    if (referrer === undefined) {
      path.pop()
      yield* deleteOne(access, repo, level.digest, now, progress)
    } else {
      const isLast = path.length === maxLevels
      const referrers = isLast ? [] : yield* readReferrers(repo, referrer, manifestsPerWrite)
      path.push({ digest: referrer, referrers })
    }
  }
}

function* deleteOne(
  access: WriteAccess,
  repo: string,
  digest: string,
  now: number,
  progress: Progress,
): Work<void> {
  const row = yield* first(
    sql`select count(*) from manifest_references where repo = ${repo} and manifest = ${digest}`,
  )
  yield* releaseBlobs(access, repo, digest, now)
  yield* removeManifest(access, repo, digest)
  progress.deleted.push(digest)
  progress.references += row?.[0] as number
}
