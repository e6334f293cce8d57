// Immutable tags, which match a pattern of their repo. They can be created, but neither moved nor deleted.
import type { StatusError } from '../../aip/errors.ts'
import { failedPrecondition } from '../../aip/errors.ts'
import { sql } from '../../store/sql.ts'
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

/** Throws if an immutable tag points to the manifest, or to an index that contains it. */
export function* requireNoImmutableTagOf(
  repo: string,
  digest: string,
  patterns: readonly string[],
): Work<void> {
  if (patterns.length === 0) return
  // SQLite would read all references of the repo first; `cross join` prescribes the order.
  const rows = yield sql`with recursive containing (digest) as (
      select ${digest} /*pg ::text collate "C" */
      union select r.manifest from containing c cross join manifest_references r
        where r.repo = ${repo} and r.digest = c.digest and r.kind = 'manifest'
    ) select t.name from containing c cross join tags t
      where t.parent = ${repo} and t.digest = c.digest order by t.name`
  for (const [name] of rows) {
    const pattern = patternFor(name as string, patterns)
    if (pattern === undefined) continue
    throw immutableTag(`manifest ${digest} is part of tag ${name} and cannot be deleted`, pattern)
  }
}

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
