// The column `public_since` of repos: the time since which a repo has been public under its name.
// If somebody without access pulls by a name that repos of several organizations have, they get the
// repo that has been public under it for the longest time; repos of verified organizations come
// first. So nobody can take over the pulls of others, or stop them, by publishing a repo with the
// same name.
import { sql } from './sql.ts'
import type { Work } from './work.ts'
import type { WriteAccess } from './write-access.ts'

type Named = { name: string; public?: boolean | undefined }

/** The value of the column, if an update of a repo changes it. */
export function publicSince(merged: Named, current: Named, now: number): { public_since?: number } {
  const isSame = Boolean(merged.public) === Boolean(current.public) && merged.name === current.name
  return isSame ? {} : { public_since: merged.public ? now : 0 }
}

/** For a group whose name changes: the names of all repos below it change, too. */
export function* restartPublicNames(_access: WriteAccess, group: string, now: number): Work<void> {
  yield sql`update repos set public_since = ${now}
    where public_since > 0 and uid > ${`${group}/`} and uid < ${`${group}0`}`
}
