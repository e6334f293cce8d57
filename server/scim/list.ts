// Lists resources. Equalities of indexed attributes are looked up; every other filter, and every order, is evaluated on
// the resources themselves, of which at most `maxScannedResources` are read.
import type { Store } from '../store/db.ts'
import type { Row, Sql } from '../store/sql.ts'
import { among, join, raw, sql } from '../store/sql.ts'
import type { Budget } from './budget.ts'
import { badRequest } from './errors.ts'
import type { Equality } from './filter/equalities.ts'
import { countMentions, equalitiesOf, isPathOf, isValueOf } from './filter/equalities.ts'
import { testOf } from './filter/evaluate.ts'
import { maxPageLength, maxScannedLength, maxScannedResources } from './limits.ts'
import type { ListQuery } from './list-query.ts'
import type { SortKey } from './sort.ts'
import { sortingBy } from './sort.ts'
import type { Stored, StoredType } from './stored.ts'
import { jsonLengthOf, represent, selectWhere, storedOf } from './stored.ts'

export type ListContext = { store: Store; provider: string; base: string }

export type Matches = { total: number; page: Stored[] }

/** Few enough that the resources of one read are parsed in a few milliseconds, unless they are unusually large. */
const rowsPerRead = 50

/** The resources of one page, without references, and how many match on all pages. */
export async function findPage(
  context: ListContext,
  stored: StoredType,
  query: ListQuery,
  budget: Budget,
): Promise<Matches> {
  const { filter, order, startIndex, count } = query
  if (!filter && !order) return readPage(context, stored, startIndex - 1, count)
  const equalities = equalitiesOf(filter)
  const references = referencesIn(stored, query, equalities)
  const test = filter && testOf(stored.type, filter)
  const sorting = order && sortingBy(stored.type, order)
  // Only uids and keys are kept until the page is known: the resources of all matches can be too large for memory.
  const matches: { uid: string; key: SortKey }[] = []
  for await (const rows of candidates(context, stored, conditionOf(context, stored, equalities)))
    for (const row of rows) {
      const shown = { ...represent(stored.type, context.base, row), ...references }
      if (!test || test(shown, budget)) matches.push({ uid: row.uid, key: sorting?.keyOf(shown) })
      await budget.yieldIfDue()
    }
  if (sorting) matches.sort((a, b) => sorting.compare(a.key, b.key))
  const uids = matches.slice(startIndex - 1, startIndex - 1 + count).map(({ uid }) => uid)
  return { total: matches.length, page: await readInOrder(context, stored, uids) }
}

async function readInOrder({ store }: ListContext, stored: StoredType, uids: string[]): Promise<Stored[]> {
  if (uids.length === 0) return []
  const rows = await store.query(selectWhere(stored, sql`uid in ${among(uids)}`))
  const byUid = new Map(rows.map((row) => [row[0] as string, row]))
  return withinPage(uids.flatMap((uid) => (byUid.has(uid) ? [byUid.get(uid) as Row] : [])))
}

async function readPage(
  { store, provider }: ListContext,
  stored: StoredType,
  offset: number,
  count: number,
): Promise<Matches> {
  const [total] = await store.query(
    sql`select ${raw(stored.countColumn)} from scim_settings where provider = ${provider}`,
  )
  const rows =
    count === 0
      ? []
      : await store.query(
          selectWhere(stored, sql`provider = ${provider} order by uid limit ${count} offset ${offset}`),
        )
  return { total: (total?.[0] as number | undefined) ?? 0, page: withinPage(rows) }
}

/** Cuts the page off before it exceeds `maxPageLength`, but keeps at least one resource. */
function withinPage(rows: readonly Row[]): Stored[] {
  let length = 0
  const end = rows.findIndex((row, at) => {
    length += jsonLengthOf(row)
    return at > 0 && length > maxPageLength
  })
  return (end < 0 ? rows : rows.slice(0, end)).map(storedOf)
}

/**
 * The members of a group are not read to evaluate a filter, because there can be many. A filter may therefore only
 * require single members by `eq`. The store looks these up, so each match has them. Likewise for the groups of a user.
 */
function referencesIn(
  { references: { name } }: StoredType,
  { filter, order }: ListQuery,
  equalities: readonly Equality[],
): Record<string, unknown> {
  const values = equalities.filter(({ path }) => isValueOf(path, name)).map(({ value }) => ({ value }))
  if (countMentions(filter, name) > values.length || (order && isPathOf(order.by.toLowerCase(), name)))
    throw badRequest('invalidFilter', `${name} can be used only in the filter ${name}[value eq "id"]`)
  return values.length > 0 ? { [name]: values } : {}
}

/** The condition on indexed columns that every match fulfils. */
function conditionOf(
  { provider }: ListContext,
  { keys, references }: StoredType,
  equalities: readonly Equality[],
): Sql {
  const conditions = equalities.flatMap(({ path, value }) => {
    const name = path.slice(path.lastIndexOf(':') + 1)
    // PostgreSQL refuses text with NUL, and no stored value contains it.
    const text = value.replaceAll('\0', '\uFFFD')
    if (isValueOf(path, references.name)) return [references.condition(`${provider}/${text}`)]
    const condition = keys.get(name)
    return condition ? [condition(provider, text)] : []
  })
  return join([sql`provider = ${provider}`, ...conditions], ' and ')
}

/** Reads a few rows at a time, so that other requests are answered in between. */
async function* candidates(
  { store }: ListContext,
  stored: StoredType,
  condition: Sql,
): AsyncGenerator<Stored[]> {
  let [after, count, length] = ['', 0, 0]
  for (;;) {
    const rows = await store.query(
      selectWhere(stored, sql`${condition} and uid > ${after} order by uid limit ${rowsPerRead}`),
    )
    count += rows.length
    for (const row of rows) length += jsonLengthOf(row)
    if (count > maxScannedResources || length > maxScannedLength) throw tooMuchToScan()
    yield rows.map(storedOf)
    if (rows.length < rowsPerRead) return
    after = rows.at(-1)?.[0] as string // rows start with their uid
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** How clients avoid expensive lists. */
export const listAdvice = 'filter by userName, externalId or displayName with eq'

const tooMuchToScan = () =>
  badRequest(
    'tooMany',
    `the list would read more than ${maxScannedResources} resources or ${maxScannedLength / 2 ** 20} MiB; ${listAdvice}`,
  )
