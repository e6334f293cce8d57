// Records since when a manifest has had no tag. Retention deletes it after some time without one.
import { parentOf } from '../../aip/uid.ts'
import type { Sql } from '../../store/sql.ts'
import { among, sql } from '../../store/sql.ts'

/** For manifests that may have lost their last tag. */
export const noteUntagged = (repo: string, condition: Sql, now: number): Sql =>
  sql`update manifests set untagged_since = ${now} where repo = ${repo} and ${condition}`

/** Locks the manifests in order of their digests, so that two transactions do not wait for each other. */
export const noteEachUntagged = (repo: string, digests: readonly string[], now: number): Sql =>
  noteUntagged(
    repo,
    sql`digest in (select digest from manifests where repo = ${repo} and digest in ${among(digests)}
      order by digest /*pg for no key update */)`,
    now,
  )

/** For the manifest of a tag that is about to be moved or deleted. */
export const noteLossOfTag = (tag: string, now: number): Sql =>
  noteUntagged(parentOf(tag), sql`digest = (select digest from tags where uid = ${tag})`, now)
