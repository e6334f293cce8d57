// Finds the repo that a caller means. Names of organizations are not unique, and everybody may create organizations, so
// those that a caller has nothing to do with must not make a name ambiguous.
import { depthOf, isAtOrBelow, isBelow, lineage } from '../../../aip/uid.ts'
import type { Grants } from '../../../policy/grants.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Settings } from '../../dependencies.ts'
import { findRepo, maxNamesakes, readAllNamesakes, readLevels } from './find-repo.ts'
import type { FoundRepo } from './found-repo.ts'

/** Like `findRepo`, for a caller with these grants: all of them, not only those of some group. */
export function* findRepoFor(settings: Settings, grants: Grants, name: string): Work<FoundRepo> {
  const found = yield* findRepo(name)
  if (found.kind !== 'ambiguous') return found
  return yield* readLevels(name.split('/'), function* (parent, part, below) {
    const all = yield* readAllNamesakes(parent, part, below)
    if (all.length < 2) return all
    const held = yield* readHeldNamesakes(grants, parent, part)
    if (held.length > 0 || !settings.publicRepos) return held
    const open = yield* withPublicRepo(all, below)
    return open.length === 1 ? open : []
  })
}

/** The groups with this name for which the caller has any grant: at the group, above it or below it. */
function* readHeldNamesakes(grants: Grants, parent: string | undefined, name: string): Work<string[]> {
  const groups = grants.list.filter(({ bits }) => bits.size > 0).map(({ group }) => group)
  if (parent !== undefined && groups.some((group) => isAtOrBelow(parent, group)))
    return yield* readAllNamesakes(parent, name, [])
  // Those of others are not read: there may be any number of them.
  const depth = parent === undefined ? 0 : depthOf(parent)
  const inside = groups.filter((group) => isBelow(group, parent ?? ''))
  const uids = new Set(inside.flatMap((group) => lineage(group)[depth] ?? []))
  if (uids.size === 0) return []
  const rows = yield sql`select uid from groups where uid in ${among([...uids])} and name = ${name}
    order by uid limit ${maxNamesakes}`
  return rows.map(([uid]) => uid as string)
}

/** Those of the groups in which the rest of the name leads to a public repo. */
function* withPublicRepo(groups: readonly string[], parts: readonly string[]): Work<string[]> {
  const parents: string[] = []
  let level = groups
  for (let at = 0; at < parts.length && level.length > 0; at++) {
    const rest = parts.slice(at).join('/')
    const repos = yield sql`select parent from repos
      where parent in ${among(level)} and name = ${rest} and public = 1`
    parents.push(...repos.map(([parent]) => parent as string))
    const below = yield sql`select uid from groups
      where parent in ${among(level)} and name = ${parts[at] ?? ''} order by uid limit ${maxNamesakes}`
    level = below.map(([uid]) => uid as string)
  }
  return groups.filter((group) => parents.some((parent) => isAtOrBelow(parent, group)))
}
