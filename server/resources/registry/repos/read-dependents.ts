// Manifests that retention keeps because of others: those in an index, and those with a subject.
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { hasSubject, hasTag } from './untagged-manifests.ts'

export type Dependent = {
  digest: string
  untaggedSince: number
  isReferrer: boolean
  /** The number of indexes that contain the manifest, plus one if it has a subject. Infinite if it has a tag. */
  users: number
}

/** The manifests of indexes, once for each index. */
export function* readChildren(repo: string, indexes: readonly string[]): Work<string[]> {
  const rows = yield sql`select digest from manifest_references
    where repo = ${repo} and manifest in ${among(indexes)} and kind = 'manifest'`
  return rows.map(([digest]) => digest as string)
}

const referrersPerRead = 500

/** The next manifests that refer to one of the subjects. `last` is the last of them; empty if there are no more. */
export function* readReferrers(
  repo: string,
  subjects: readonly string[],
  after: string,
): Work<{ digests: string[]; last: string }> {
  const rows = yield sql`select digest from manifests
    where repo = ${repo} and subject in ${among(subjects)} and digest > ${after}
    order by digest limit ${referrersPerRead}`
  const digests = rows.map(([digest]) => digest as string)
  return { digests, last: digests.length < referrersPerRead ? '' : (digests.at(-1) ?? '') }
}

export function* readDependents(repo: string, digests: readonly string[]): Work<Dependent[]> {
  const rows = yield sql`select m.digest, m.untagged_since,
      case when ${hasSubject} then 1 else 0 end, case when ${hasTag} then 1 else 0 end,
      (select count(*) from manifest_references r
        where r.repo = m.repo and r.digest = m.digest and r.kind = 'manifest')
    from manifests m where m.repo = ${repo} and m.digest in ${among(digests)}`
  return (rows as [string, number, number, number, number][]).map(
    ([digest, untaggedSince, subjects, isTagged, indexes]) => ({
      ...{ digest, untaggedSince, isReferrer: subjects === 1 },
      users: isTagged === 1 ? Number.POSITIVE_INFINITY : subjects + indexes,
    }),
  )
}
