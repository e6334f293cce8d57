// Lists by a part of a name (`name_contains`).
import type { DescMessage } from '@bufbuild/protobuf'
import type { Sql } from '../store/sql.ts'
import { among, raw, sql } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import { readTally } from '../store/tally.ts'
import type { Work } from '../store/work.ts'
import { all } from '../store/work.ts'
import type { Kind } from './kind.ts'
import type { ListOptions, SearchResult } from './list.ts'

/** If more names match, the list is read in its order: a page is then full after few rows. */
const maxFound = 1000

/** A caller in more organizations than this is served by one scan in the order of the list. */
const maxOrganizations = 100

/** The condition that a name contains a text, if the request has one. */
export const nameContains = (text: string): Sql[] =>
  text === '' ? [] : [sql`lower(name) like ${patternOf(text)} escape '\\'`]

/**
 * Finds resources by a text in their names. It reads only the index by organization and name,
 * whereas a list in the order of uids reads whole rows: a rare text among 100,000 groups takes 61
 * ms instead of 297 on SQLite, and 146 instead of 626 on PostgreSQL (busy machine).
 */
export function nameSearch(
  { table: { name: table } }: Kind<DescMessage>,
  text: string,
): Pick<ListOptions, 'search'> {
  if (text === '') return {}
  const search = function* (
    organizations: readonly string[],
    maxRows: number | undefined,
  ): Work<SearchResult> {
    const filters = nameContains(text)
    if (organizations.length === 0 || organizations.length > maxOrganizations) return { filters }
    if (maxRows !== undefined) yield* requireFewer(table, organizations, maxRows)
    const rows = yield* all(sql`select uid from ${raw(table)}
      where root in ${among(organizations)} and lower(name) like ${patternOf(text)} escape '\\'
      limit ${raw(String(maxFound + 1))}`)
    return rows.length > maxFound ? { filters } : { filters, uids: rows.map(([uid]) => String(uid)) }
  }
  return { search }
}

/** Throws if there are more names than `maxRows`. The lane then runs the list. */
function* requireFewer(table: string, organizations: readonly string[], maxRows: number): Work<void> {
  const counts = yield* readTally(table, [...organizations])
  const names = [...counts.values()].reduce((sum, { subtree }) => sum + subtree, 0)
  if (names > maxRows) throw new StoreError('expensive')
}

/** In both stores, the SQL function `lower` changes only the letters from A to Z. */
const patternOf = (text: string) =>
  `%${text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[\\%_]/g, '\\$&')}%`
