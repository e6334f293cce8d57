// Finds the repo that a caller means. Names of organizations are not unique, and everybody may create organizations, so
// those that a caller has nothing to do with must not make a name ambiguous.
import { depthOf, isAtOrBelow, isBelow, lineage } from '../../../aip/uid.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Placeholder, Placeholders, Row, Sql } from '../../../store/sql.ts'
import { among, join, prepared, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Settings } from '../../dependencies.ts'
import { findRepo, maxNamesakes, readAllNamesakes, readLevels } from '../find-repo.ts'
import type { FoundRepo } from '../found-repo.ts'

/** Like `findRepo`, for one caller. `grants` are all grants of the caller, not only those for one group. */
export function* findRepoFor(settings: Settings, grants: Grants, name: string): Work<FoundRepo> {
  const found = yield* findRepo(name)
  if (found.kind !== 'ambiguous') return found
  return yield* readLevels(name.split('/'), function* (parent, part, below) {
    const all = yield* readAllNamesakes(parent, part, below)
    if (all.length < 2) return all
    const held = yield* readHeldNamesakes(grants, parent, part)
    if (held.length > 0 || !settings.publicRepos) return held
    return yield* oldestPublic(parent, part, below)
  })
}

/** The groups with this name for which the caller has any grant: at the group, above it or below it. */
function* readHeldNamesakes(grants: Grants, parent: string | undefined, name: string): Work<string[]> {
  const groups = grants.list.filter(({ bits }) => bits.size > 0).map(({ group }) => group)
  if (parent !== undefined && groups.some((group) => isAtOrBelow(parent, group)))
    return yield* readAllNamesakes(parent, name, [])
  // Other groups with this name are not read: there may be any number of them.
  const depth = parent === undefined ? 0 : depthOf(parent)
  const inside = groups.filter((group) => isBelow(group, parent ?? ''))
  const uids = new Set(inside.flatMap((group) => lineage(group)[depth] ?? []))
  if (uids.size === 0) return []
  const rows = yield sql`select uid from groups where uid in ${among([...uids])} and name = ${name}
    order by uid limit ${maxNamesakes}`
  return rows.map(([uid]) => uid as string)
}

/**
 * The group with this name in which `below` leads to a public repo. If there are several, verified organizations come
 * first, then the group whose repo has been public for longest. All groups with the name are considered: if their number
 * were limited, a stranger could hide a group behind many others.
 */
function* oldestPublic(parent: string | undefined, name: string, below: readonly string[]): Work<string[]> {
  const found: Row[] = []
  for (let depth = 0; depth < below.length; depth++) {
    const names = [name, ...below.slice(0, depth), below.slice(depth).join('/')]
    const values = parent === undefined ? names : [parent, ...names]
    found.push(...(yield prepared(selectOldestPublic, [parent === undefined], values)))
  }
  // Verified organizations come first, then the repo that has been public for longest.
  const [oldest] = found.sort((a, b) => Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]))
  return oldest ? [oldest[0] as string] : []
}

/** The values are the parent, if there is one, the names of the groups from the top, and the name of the repo. */
function selectOldestPublic(values: Placeholders<string[]>, isOrganization: boolean): Sql {
  const names = isOrganization ? values : values.slice(1)
  const groups = names.slice(0, -1)
  const joined = groups.map((_, at) => `groups g${at}`).join(' cross join ')
  const conditions = groups.map((name, at) => {
    const inParent = at === 0 ? topCondition(values, isOrganization) : raw(`g${at}.parent = g${at - 1}.uid`)
    return sql`${inParent} and ${raw(`g${at}.name`)} = ${name}`
  })
  const isUnverified = raw('case when g0.domain is null then 1 else 0 end')
  return sql`select g0.uid, ${isUnverified} as unverified, r.public_since
    from ${raw(joined)} cross join repos r where ${join(conditions, ' and ')}
    and ${raw(`r.parent = g${groups.length - 1}.uid`)} and r.name = ${names.at(-1) as Placeholder} and r.public_since > 0
    order by unverified, r.public_since, r.uid limit 1`
}

const topCondition = ([parent]: Placeholders<string[]>, isOrganization: boolean): Sql =>
  isOrganization ? raw('g0.parent is null') : sql`g0.parent = ${parent as Placeholder}`
