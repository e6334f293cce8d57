// Finds the repo that a caller means. Names of organizations are not unique, and everybody may create organizations, so
// those that a caller has nothing to do with must not make a name ambiguous.
import { depthOf, isAtOrBelow, isBelow, lineage } from '../../../aip/uid.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Placeholder, Placeholders, Sql } from '../../../store/sql.ts'
import { among, join, prepared, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Settings } from '../../dependencies.ts'
import { findRepo, maxDepth, maxNamesakes, readAllNamesakes, readLevels } from '../find-repo.ts'
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
  if (below.length === 0) return []
  const length = 2 ** Math.ceil(Math.log2(Math.min(below.length, maxDepth)))
  const levels = Array.from({ length }, (_, level) => levelValues(below, level)).flat()
  const isOrganization = parent === undefined
  const values = [...(isOrganization ? [name] : [parent, name]), ...levels]
  const [oldest] = yield prepared(selectOldestPublic, [isOrganization], values)
  return oldest ? [oldest[0] as string] : []
}

/**
 * For a group that is `level` levels below the first one: the name that the next group would have,
 * and the name that a repo in this group would have. The last part is never the name of a group.
 */
const levelValues = (
  below: readonly string[],
  level: number,
): [group: string | null, repo: string | null] => [
  level < below.length - 1 ? (below[level] ?? null) : null,
  level < below.length ? below.slice(level).join('/') : null,
]

/**
 * The values are the parent, if there is one, the name of the group, and those of each level. The
 * number of levels is a power of two, so there are few different statements. With `cross join`,
 * SQLite keeps this order of the joins, in which it can use the indexes.
 */
function selectOldestPublic(values: Placeholders<(string | null)[]>, isOrganization: boolean): Sql {
  const [parent, name, ...levels] = (isOrganization ? [undefined, ...values] : values) as [
    Placeholder | undefined,
    Placeholder,
    ...Placeholder[],
  ]
  const inParent = parent ? sql`parent = ${parent}` : raw('parent is null')
  const rows = Array.from({ length: levels.length / 2 }, (_, level) => {
    const [group, repo] = levels.slice(2 * level) as [Placeholder, Placeholder]
    return sql`(${raw(String(level))}, ${group}, ${repo})`
  })
  return sql`with recursive levels (level, group_name, repo_name) as (values ${join(rows, ', ')}),
    reached (top, unverified, uid, level) as (
      select uid, case when domain is null then 1 else 0 end, uid, 0 from groups where ${inParent} and name = ${name}
      union all
      select reached.top, reached.unverified, g.uid, reached.level + 1 from reached
        cross join levels cross join groups g
        where levels.level = reached.level and g.parent = reached.uid and g.name = levels.group_name)
    select reached.top, reached.unverified, r.public_since from reached cross join levels cross join repos r
    where levels.level = reached.level and r.parent = reached.uid and r.name = levels.repo_name and r.public_since > 0
    order by reached.unverified, r.public_since, r.uid limit 1`
}
