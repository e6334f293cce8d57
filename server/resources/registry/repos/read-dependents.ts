// Manifests that retention keeps because of others: those in an index, and those with a subject.
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { hasSubject, hasTag } from './untagged-manifests.ts'

export type Dependent = {
  digest: string
  untaggedSince: number
  /** Undefined if the manifest has no subject, or its subject is not in the repo. */
  subject: string | undefined
  /** The number of indexes that contain the manifest, plus one if its subject is in the repo. Infinite if it has a tag. */
  users: number
}

/** A manifest and one of its users: an index that contains it, or its subject. */
export type Use = { user: string; digest: string }

/** The manifests of indexes, once for each index. */
export function* readChildren(repo: string, indexes: readonly string[]): Work<Use[]> {
  const rows = yield sql`select manifest, digest from manifest_references
    where repo = ${repo} and manifest in ${among(indexes)} and kind = 'manifest'`
  return rows.map(([user, digest]) => ({ user, digest }) as Use)
}

const referrersPerRead = 500

/** The next manifests that refer to one of the subjects. `last` is the last of them; empty if there are no more. */
export function* readReferrers(
  repo: string,
  subjects: readonly string[],
  after: string,
): Work<{ uses: Use[]; last: string }> {
  const rows = yield sql`select subject, digest from manifests
    where repo = ${repo} and subject in ${among(subjects)} and digest > ${after}
    order by digest limit ${referrersPerRead}`
  const uses = rows.map(([user, digest]) => ({ user, digest }) as Use)
  return { uses, last: uses.length < referrersPerRead ? '' : (uses.at(-1)?.digest ?? '') }
}

export function* readDependents(repo: string, digests: readonly string[]): Work<Dependent[]> {
  const rows = yield sql`select m.digest, m.untagged_since,
      case when ${hasSubject} then m.subject end, case when ${hasTag} then 1 else 0 end,
      (select count(*) from manifest_references r
        where r.repo = m.repo and r.digest = m.digest and r.kind = 'manifest')
    from manifests m where m.repo = ${repo} and m.digest in ${among(digests)}`
  return (rows as [string, number, string | null, number, number][]).map(
    ([digest, untaggedSince, subject, isTagged, indexes]) => ({
      ...{ digest, untaggedSince, subject: subject ?? undefined },
      users: isTagged === 1 ? Number.POSITIVE_INFINITY : indexes + (subject === null ? 0 : 1),
    }),
  )
}
