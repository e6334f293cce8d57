// How much content the repos of a group have, for the limits of groups: the blobs and manifests of each repo, and what
// its uploads have reserved. A blob that several repos have counts once for each of them.
import { lineage, parentOf } from '../../aip/uid.ts'
import { contentKind } from '../../limits/quota/content-limit.ts'
import { countWithinLimits, requireRoomFor } from '../../limits/quota/insert-within-limits.ts'
import type { Amount } from '../../store/check.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'

const groupsOf = (repo: string) => lineage(parentOf(repo))

/** Adds to the bytes that count for a repo; `bytes` may be negative. Throws if a limit would be exceeded. */
export const countContent = (access: WriteAccess, repo: string, bytes: number): Work<void> =>
  countWithinLimits(access, contentKind, groupsOf(repo), bytes)

/** How many bytes the repo may still get; undefined without a limit. Throws if there are fewer than `bytes`. */
export const requireContentRoom = (
  access: WriteAccess,
  repo: string,
  bytes: number,
): Work<number | undefined> => requireRoomFor(access, contentKind, groupsOf(repo), bytes)

const allContent = raw(`select c.size, r.uid, r.parent from (
    select repo, b.size from repo_blobs l join blobs b on b.digest = l.digest
    union all select repo, size from manifests
    union all select repo, reserved from uploads
  ) c join repos r on r.uid = c.repo`)

/** For the check of the tally. */
export const contentAmount: Amount = {
  kind: contentKind,
  perGroup: sql`select parent, cast(sum(size) as bigint) from (${allContent}) content group by parent`,
  below: (group) => sql`select cast(coalesce(sum(size), 0) as bigint) from (${allContent}) content
    where uid > ${`${group}/`} and uid < ${`${group}0`}`,
}
