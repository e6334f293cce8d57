// Finds sealed events for lists: in one or several organizations, ordered by time.
import type { Sql } from '../sql.ts'
import { among, join, raw, sql } from '../sql.ts'
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import type { SealedEvent } from './event-row.ts'
import { sealedColumns, sealedEventOf } from './event-row.ts'

/** A part of an organization. `condition` selects its groups; undefined for the whole organization. */
export type RootSelection = { root: string; condition: Sql | undefined }

/** Orders are total: events of the same time are ordered by organization and sequence number. */
export type EntryKey = { time: number; root: string; sequence: number }

export type EntryQuery = {
  roots: readonly RootSelection[]
  filters: readonly Sql[]
  descending: boolean
  after: EntryKey | undefined
  skip: number
  size: number
  /** Throws a StoreError `expensive` if more rows would be read. Undefined: no limit. */
  maxRows: number | undefined
}

/** The maximum total size of the resources in the events of a page, to limit its memory. */
const pageBytes = 4 * 1024 * 1024

export type EntryPage = { events: SealedEvent[]; next: EntryKey | undefined }

/** Reads one page. It may have fewer than `size` events if they are large. */
export function* findEntries(query: EntryQuery): Work<EntryPage> {
  yield* requireCheap(query)
  const found = yield* readKeys(query)
  const keys = found.slice(0, query.size)
  let bytes = 0
  const cut = keys.findIndex((key, at) => {
    bytes += key.bytes
    return at > 0 && bytes > pageBytes
  })
  const page = cut === -1 ? keys : keys.slice(0, cut)
  const hasMore = found.length > page.length
  return { events: yield* readEvents(page), next: hasMore ? page.at(-1) : undefined }
}

/** Reads the keys of a page, and one more if there are more. Skipped keys stay in the store. */
function* readKeys(query: EntryQuery): Work<(EntryKey & { bytes: number })[]> {
  const { roots, descending, skip, size } = query
  if (roots.length === 0) return []
  const order = raw(
    descending ? 'time desc, root desc, sequence desc' : 'time, root, sequence', // as in `afterKey`
  )
  const parts = roots.map((selection) => sql`select * from (${keysIn(query, selection)}) part`)
  const rows = yield sql`select time, root, sequence, bytes from (${join(parts, ' union all ')}) found
    order by ${order} limit ${size + 1} offset ${skip}`
  return (rows as [number, string, number, number][]).map(([time, root, sequence, bytes]) => ({
    ...{ time, root, sequence, bytes },
  }))
}

/** The keys of one organization that can be in the page or before it. */
function keysIn(
  { filters, descending, after, skip, size }: EntryQuery,
  { root, condition }: RootSelection,
): Sql {
  const conditions = [...conditionsOf(root, condition), ...filters, ...afterKey(after, root, descending)]
  const order = raw(descending ? 'time desc, sequence desc' : 'time, sequence')
  return sql`select time, root, sequence, coalesce(length(before), 0) + coalesce(length(after), 0) as bytes
    from events where ${join(conditions, ' and ')} order by ${order} limit ${skip + size + 1}`
}

const conditionsOf = (root: string, condition: Sql | undefined): Sql[] => [
  sql`root = ${root}`,
  ...(condition ? [condition] : []),
]

/** The events of an organization that follow the key in the order. */
function afterKey(after: EntryKey | undefined, root: string, descending: boolean): Sql[] {
  if (!after) return []
  const { time, sequence } = after
  if (root === after.root)
    return [
      descending
        ? sql`time <= ${time} and (time < ${time} or sequence < ${sequence})`
        : sql`time >= ${time} and (time > ${time} or sequence > ${sequence})`,
    ]
  const isLater = descending ? root < after.root : root > after.root
  if (isLater) return [descending ? sql`time <= ${time}` : sql`time >= ${time}`]
  return [descending ? sql`time < ${time}` : sql`time > ${time}`]
}

function* readEvents(keys: readonly EntryKey[]): Work<SealedEvent[]> {
  const found = new Map<string, SealedEvent>()
  for (const root of new Set(keys.map((key) => key.root))) {
    const sequences = keys.filter((key) => key.root === root).map(({ sequence }) => sequence)
    const rows = yield sql`select ${columns} from events
      where root = ${root} and sequence in ${among(sequences)}`
    for (const row of rows) {
      const event = sealedEventOf(row)
      found.set(`${root}/${event.sequence}`, event)
    }
  }
  return keys.flatMap(({ root, sequence }) => found.get(`${root}/${sequence}`) ?? [])
}

const columns = raw(sealedColumns.join(', '))

/**
 * The number of events that match, over all pages. Without filters, the number for a whole
 * organization is read from its chain.
 */
export function* countEntries({ roots, filters }: Pick<EntryQuery, 'roots' | 'filters'>): Work<number> {
  let count = 0
  for (const { root, condition } of roots) {
    if (!condition && filters.length === 0) count += yield* chainLength([root])
    else {
      const where = join([...conditionsOf(root, condition), ...filters], ' and ')
      const [row] = yield sql`select count(*) from events where ${where}`
      count += row?.[0] as number
    }
  }
  return count
}

function* chainLength(roots: readonly string[]): Work<number> {
  if (roots.length === 0) return 0
  const [row] = yield sql`select coalesce(sum(sequence - first_sequence + 1), 0) from event_chains
    where root in ${among(roots)}`
  return row?.[0] as number
}

/**
 * In whole organizations without filters, a page reads only its own rows and the skipped ones of
 * each; otherwise it may have to read all rows.
 */
function* requireCheap({ roots, filters, skip, maxRows }: EntryQuery): Work<void> {
  if (maxRows === undefined) return
  const scanned = filters.length > 0 ? roots : roots.filter(({ condition }) => condition)
  const rows = yield* chainLength(scanned.map(({ root }) => root))
  if (rows + skip * roots.length > maxRows) throw new StoreError('expensive')
}
