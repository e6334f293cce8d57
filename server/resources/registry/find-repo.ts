// Finds the repo that a registry client means. The name is a uid, or the names of the organization, of groups, and of
// the repo, separated by slashes.
//
// The name of a repo may contain slashes, too, so a name may fit several repos. The one in the
// highest group is found. Creating a repo or renaming a group can therefore hide another repo, but
// it needs rights in a group above that repo, and these apply to the hidden repo as well.
import { isUid } from '../../aip/uid.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { Store } from '../../store/db.ts'
import type { Sql } from '../../store/sql.ts'
import { join, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'
import { andThen } from '../../wire/maybe-promise.ts'
import type { FoundRepo } from './found-repo.ts'
import { repoInLevels, selectLevels } from './joined-levels.ts'

/** Groups are nested less deeply than this. */
export const maxDepth = 64
/** How many groups with the same name are read. */
export const maxNamesakes = 20

/** Does not check access: the caller of this function must. */
export function* findRepo(name: string): Work<FoundRepo> {
  if (isUid(name)) return { kind: 'repo', uid: name }
  const parts = name.split('/')
  const levels = selectLevels(parts)
  return (levels && repoInLevels(parts, yield levels)) ?? (yield* readLevels(parts))
}

/**
 * How many names are remembered, each with the statement that looks it up. Making the statement
 * takes 1 µs of the 60 µs of a pull.
 */
const maxKnownNames = 1000
/** Longer names are rare. */
const maxKnownLength = 256

/** Like `findRepo`, outside of a transaction. */
export function openRepoLookup(store: Store): (name: string) => MaybePromise<FoundRepo> {
  const known = new BoundedMap<string, { parts: readonly string[]; levels: Sql | undefined }>(maxKnownNames)
  const statementOf = (name: string) => {
    const parts = name.split('/')
    const statement = { parts, levels: selectLevels(parts) }
    if (name.length <= maxKnownLength) known.set(name, statement)
    return statement
  }
  return (name) => {
    if (isUid(name)) return { kind: 'repo', uid: name }
    const { parts, levels } = known.get(name) ?? statementOf(name)
    if (!levels) return store.read(() => readLevels(parts))
    return andThen(
      store.query(levels),
      (rows) => repoInLevels(parts, rows) ?? store.read(() => readLevels(parts)),
    )
  }
}

/**
 * Reads the groups in the parent that have this name, or, without a parent, the organizations that
 * have it. `below` are the parts that follow in the full name of the repo.
 */
export type ReadNamesakes = (
  parent: string | undefined,
  name: string,
  below: readonly string[],
) => Work<string[]>

/** `readNamesakes` says which of several groups with the same name count. */
export function* readLevels(
  parts: readonly string[],
  readNamesakes: ReadNamesakes = readAllNamesakes,
): Work<FoundRepo> {
  const path: string[] = []
  let namesakes: string[] = []
  // The last part always belongs to the name of the repo, unless it is the only one.
  for (const [at, part] of parts.slice(0, Math.min(Math.max(parts.length - 1, 1), maxDepth)).entries()) {
    namesakes = yield* readNamesakes(path.at(-1), part, parts.slice(at + 1))
    const [group] = namesakes
    if (group === undefined || namesakes.length > 1) break
    path.push(group)
  }
  const candidates = path.map((group, at) => ({ group, rest: parts.slice(at + 1).join('/') }))
  const found: FoundRepo = path.length > 0 ? yield* firstExisting(candidates) : { kind: 'nothing' }
  return found.kind === 'repo' || namesakes.length < 2 ? found : { kind: 'ambiguous', groups: namesakes }
}

export const readAllNamesakes: ReadNamesakes = (parent, name) =>
  parent === undefined ? readOrganizations(name) : readGroups(parent, name)

/** If a verified organization has the name, organizations that are not verified do not count. */
function* readOrganizations(name: string): Work<string[]> {
  const rows = yield sql`select uid, domain from groups where parent is null and name = ${name}
    order by case when domain is null then 1 else 0 end, uid limit ${maxNamesakes}`
  const verified = rows.filter(([, domain]) => domain !== null)
  return (verified.length > 0 ? verified : rows).map(([uid]) => uid as string)
}

function* readGroups(parent: string, name: string): Work<string[]> {
  const rows = yield sql`select uid from groups where parent = ${parent} and name = ${name}
    order by uid limit ${maxNamesakes}`
  return rows.map(([uid]) => uid as string)
}

type Candidate = { group: string; rest: string }

/** The candidates are in the order of the tree, the organization first. */
function* firstExisting(candidates: readonly Candidate[]): Work<FoundRepo> {
  const deepest = candidates.at(-1) ?? { group: '', rest: '' }
  const named = candidates.filter(({ rest }) => rest !== '')
  if (named.length === 0) return { kind: 'missing', ...deepest }
  const conditions = named.map(({ group, rest }) => sql`(parent = ${group} and name = ${rest})`)
  const rows = yield sql`select uid, parent from repos where ${join(conditions, ' or ')}`
  const uidOf = new Map(rows.map(([uid, parent]) => [parent as string, uid as string]))
  const found = named.find(({ group }) => uidOf.has(group))
  return found ? { kind: 'repo', uid: uidOf.get(found.group) ?? '' } : { kind: 'missing', ...deepest }
}
