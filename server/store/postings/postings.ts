// A search index in a table: for every term, the documents that have it.
//
// - term: something a document is found by, such as a field with its value, or three consecutive characters of a text
//   (a trigram). The index stores each term as a 52-bit hash of the term and its scope, which is an organization.
//   Hashes may collide, so a search must also test the documents that it finds.
// - document: a row of another table, identified here by a number (numbering.ts).
// - posting: the number of a document that has a term.
// - pack: a row of the index with postings of one term, usually up to 120, eight bytes each.
// - segment: the packs of documents that were written together, such as a batch of an import or a single document.
// - block: eight segments of the same import. The postings of a rare term in the whole block are in one pack.
// - total: a row with the number of postings that imports have added for a term that is not rare. A search reads it to
//   see that a term is too common, before it reads any pack.
//
// An index of one row for each posting would be several times as large: documents have dozens of terms. Sizes are tuned
// with bench/cases/import.ts (writes) and bench/cases/advisories.ts (searches); docs/internals/advisory-search.md has
// figures and compares alternatives.
import { chunks } from '../list/scan-region.ts'
import type { Sql, Value } from '../sql.ts'
import { among, bulkInsert, raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import { blockOf, packsPerSegment, segmentsPerBlock, totalSegment } from './numbering.ts'
import { pack, unpack } from './pack.ts'

/**
 * The names of an index's table and of its column with packed numbers. Other columns: `term`,
 * `segment` (the number of the pack, see `packsPerSegment`) and `count`.
 */
export type PostingIndex = { table: string; numbersColumn: string }

/** A document with the hashes of its terms. */
export type IndexedDocument = { number: number; hashes: Iterable<number> }

/**
 * A full pack has 960 bytes. With its key it is at most 1,002 bytes long, so SQLite needs no overflow page.
 * SQLite reads a whole entry, with its overflow pages, when it compares keys, so larger packs would slow down searches.
 */
const postingsPerPack = 120

/** A term with fewer postings than this in a segment is rare there. Its postings in a whole block fit into one pack. */
const rarePostings = postingsPerPack / segmentsPerBlock

/**
 * The packs for terms that are not rare in a segment, as offsets from the number of the segment.
 * Earlier versions also used offset 0. In the first segment of a block, that is the pack of the
 * block.
 */
const ownPacks = Array.from({ length: packsPerSegment - 1 }, (_, at) => at + 1)

/** Adds documents to a segment. */
export function* addPostings(
  index: PostingIndex,
  segment: number,
  documents: readonly IndexedDocument[],
): Work<void> {
  const postings = new Map<number, number[]>()
  for (const { number, hashes } of documents) {
    for (const hash of hashes) {
      const numbers = postings.get(hash)
      if (numbers) numbers.push(number)
      else postings.set(hash, [number])
    }
  }
  // Inserting in the order of the primary key changes fewer pages.
  const terms = Float64Array.from(postings.keys()).sort()
  const rows = [...terms].flatMap((term) => rowsOf(term, segment, postings.get(term) ?? []))
  if (rows.length > 0) yield appendRows(index, rows)
}

function rowsOf(term: number, segment: number, numbers: readonly number[]): Value[][] {
  const count = numbers.length
  if (count < rarePostings) return [[term, blockOf(segment), count, pack(numbers)]]
  const packSize = Math.max(postingsPerPack, Math.ceil(count / ownPacks.length))
  const packs = chunks(numbers, packSize).map((part, at) => [term, segment + at + 1, part.length, pack(part)])
  return [[term, totalSegment, count, pack([])], ...packs]
}

/**
 * Inserts packs and totals, or appends to those that exist. The cast is to `blob` on SQLite, and to `bytea` on
 * PostgreSQL, for which the end of that line becomes a comment.
 */
function appendRows({ table, numbersColumn }: PostingIndex, rows: readonly (readonly Value[])[]): Sql {
  const column = raw(numbersColumn)
  return bulkInsert(
    sql`insert into ${raw(table)} as p (term, segment, count, ${column})`,
    rows,
    sql`on conflict (term, segment) do update set count = p.count + excluded.count,
      ${column} = cast(p.${column} || excluded.${column} as /*pg bytea) -- */ blob)
    `,
  )
}

/**
 * A document may have tens of thousands of terms. SQLite allows 32,766 values in a statement, PostgreSQL 65,535.
 */
const termsPerStatement = 512

/** Changes the terms of a document. `before` and `after` are hashes of all its terms. */
export function* changePostings(
  index: PostingIndex,
  segment: number,
  number: number,
  before: ReadonlySet<number>,
  after: ReadonlySet<number>,
): Work<void> {
  const [removed, added] = [before.difference(after), after.difference(before)]
  const terms = [...removed, ...added].sort((a, b) => a - b)
  const addedRows: Value[][] = []
  for (const chunk of chunks(terms, termsPerStatement)) {
    const packs = yield* lockPacks(index, segment, chunk)
    const packsToShorten: StoredPack[] = []
    for (const term of chunk) {
      const packsOfTerm = packs.get(term) ?? []
      if (added.has(term)) addedRows.push([term, packWithRoom(segment, packsOfTerm), 1, pack([number])])
      else packsToShorten.push(...packsOfTerm)
    }
    yield* removePosting(index, packsToShorten, number)
  }
  // Only after all packs are locked, because an insert may wait for another transaction that inserts the same pack.
  if (addedRows.length > 0) yield appendRows(index, addedRows)
}

type StoredPack = [term: number, packNumber: number, bytes: Uint8Array]

/**
 * Reads and locks the packs that may have postings of the segment, by term. `terms` are sorted: all transactions lock in
 * the same order, so that they do not deadlock.
 */
function* lockPacks(
  index: PostingIndex,
  segment: number,
  terms: readonly number[],
): Work<Map<number, StoredPack[]>> {
  const block = blockOf(segment)
  const rows = yield* all(sql`select term, segment, ${raw(index.numbersColumn)} from ${raw(index.table)}
    where term in ${among(terms)} and segment >= ${block} and segment < ${segment + packsPerSegment}
    and (segment = ${block} or segment >= ${segment}) order by term, segment /*pg for update */`)
  return Map.groupBy(rows as StoredPack[], ([term]) => term)
}

/**
 * The pack of the block, or if it is full the first pack of the segment that is not. A batch of an import has fewer
 * documents than the packs of a segment can hold, so one of them has room.
 */
function packWithRoom(segment: number, packs: readonly StoredPack[]): number {
  const block = blockOf(segment)
  const full = packs.filter(([, , bytes]) => unpack(bytes).length >= postingsPerPack)
  const fullNumbers = new Set(full.map(([, packNumber]) => packNumber))
  return [block, ...ownPacks.map((at) => segment + at)].find((at) => !fullNumbers.has(at)) ?? block
}

/**
 * Removes the number from packs that are locked, in few statements: with PostgreSQL, each is a round trip. Removes only
 * one occurrence, because two documents may have the same number.
 */
function* removePosting(
  { table, numbersColumn }: PostingIndex,
  packs: readonly StoredPack[],
  number: number,
): Work<void> {
  const column = raw(numbersColumn)
  const shortened: Value[][] = []
  const emptied: StoredPack[] = []
  for (const stored of packs) {
    const [term, packNumber, bytes] = stored
    const numbers = unpack(bytes)
    const at = numbers.indexOf(number)
    if (at < 0) continue
    const others = [...numbers].toSpliced(at, 1)
    if (others.length === 0) emptied.push(stored)
    else shortened.push([term, packNumber, others.length, pack(others)])
  }
  if (shortened.length > 0)
    yield bulkInsert(
      sql`insert into ${raw(table)} (term, segment, count, ${column})`,
      shortened,
      sql`on conflict (term, segment) do update set count = excluded.count, ${column} = excluded.${column}`,
    )
  for (const [packNumber, sameNumber] of Map.groupBy(emptied, ([, packNumber]) => packNumber))
    yield sql`delete from ${raw(table)}
      where segment = ${packNumber} and term in ${among(sameNumber.map(([term]) => term))}`
}
