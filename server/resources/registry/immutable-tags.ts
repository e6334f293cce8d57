// Immutable tags, which match a pattern of their repo. They can be created, but neither moved nor deleted.
import type { StatusError } from '../../aip/errors.ts'
import { failedPrecondition } from '../../aip/errors.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { patternFor } from './tag-pattern.ts'

/** The patterns in the column `immutable_tags` of a repo. */
export const patternsIn = (column: unknown): string[] =>
  typeof column === 'string' && column !== '' ? column.split(' ') : []

/** Throws if the tag is immutable. `verb` says what was attempted, such as `moved`. */
export function requireMutable(name: string, patterns: readonly string[], verb: string): void {
  const pattern = patternFor(name, patterns)
  if (pattern !== undefined) throw immutableTag(`tag ${name} cannot be ${verb}`, pattern)
}

export const immutableTag = (text: string, pattern: string): StatusError =>
  failedPrecondition(
    'TAG_IMMUTABLE',
    `${text}, because the pattern ${pattern} of the repo makes the tag immutable; an owner of the group can remove the pattern`,
  )

export function* requireMutableTag(uid: string, verb: string): Work<void> {
  const row = yield* first(sql`select t.name, r.immutable_tags from tags t join repos r on r.uid = t.parent
    where t.uid = ${uid}`)
  if (row) requireMutable(row[0] as string, patternsIn(row[1]), verb)
}

/**
 * The deletion of a manifest reads at most this many tags, and this many indexes that contain the
 * manifest. On SQLite, other writes wait meanwhile.
 */
const maxRead = 10_000
const digestsPerRead = 500

/**
 * Throws if an immutable tag points to the manifest, or to an index that contains it. Also throws if there are more
 * tags or indexes than may be read.
 */
export function* requireNoImmutableTagOf(
  repo: string,
  digest: string,
  patterns: readonly string[],
): Work<void> {
  if (patterns.length === 0) return
  const digests = yield* withContainingIndexes(repo, digest)
  for (let at = 0, read = 0; at < digests.length; at += digestsPerRead) {
    const rows = yield sql`select name from tags where parent = ${repo}
      and digest in ${among(digests.slice(at, at + digestsPerRead))} limit ${maxRead + 1 - read}`
    for (const [name] of rows) {
      const pattern = patternFor(name as string, patterns)
      if (pattern === undefined) continue
      throw immutableTag(`manifest ${digest} is part of tag ${name} and cannot be deleted`, pattern)
    }
    read += rows.length
    if (read > maxRead) throw tooManyToCheck(digest, 'tags')
  }
}

/** The manifest and the indexes that contain it, directly or not. */
function* withContainingIndexes(repo: string, digest: string): Work<string[]> {
  // SQLite would read all references of the repo first; `cross join` prescribes the order.
  const rows = yield sql`with recursive containing (digest) as (
      select ${digest} /*pg ::text collate "C" */
      union select r.manifest from containing c cross join manifest_references r
        where r.repo = ${repo} and r.digest = c.digest and r.kind = 'manifest'
    ) select digest from containing limit ${maxRead + 1}`
  if (rows.length > maxRead) throw tooManyToCheck(digest, 'indexes')
  return rows.map(([found]) => found as string)
}

const tooManyToCheck = (digest: string, parts: 'tags' | 'indexes'): StatusError =>
  failedPrecondition(
    'TOO_MANY_TO_CHECK',
    `manifest ${digest} is part of more than ${maxRead} ${parts}, too many to look for immutable tags; delete the ${parts} first`,
  )

const namesPerRead = 1000

/** Throws if the repo has an immutable tag. */
export function* requireNoImmutableTags(repo: string): Work<void> {
  const row = yield* first(sql`select immutable_tags from repos where uid = ${repo}`)
  const patterns = patternsIn(row?.[0])
  if (patterns.length === 0) return
  for (let after = ''; ; ) {
    const rows = yield sql`select name from tags where parent = ${repo} and name > ${after}
      order by name limit ${namesPerRead}`
    for (const [name] of rows) {
      const pattern = patternFor(name as string, patterns)
      if (pattern !== undefined)
        throw immutableTag(`the repo cannot be deleted while it has tag ${name}`, pattern)
    }
    if (rows.length < namesPerRead) return
    after = rows.at(-1)?.[0] as string
  }
}
