// Writes what advisories are found by: for each term the numbers of those that have it, packed by segment, since
// there are dozens of terms for each advisory. No pack is larger than fits beside its key: the embedded engine
// reads all of what it passes on its way.
import { endianness } from 'node:os'
import { chunks } from '../../../store/list/scan-region.ts'
import type { Value } from '../../../store/sql.ts'
import { among, bulkInsert, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { numberOf } from './terms.ts'

/** An advisory with the hashes of all that it is found by. */
export type Indexed = { number: number; hashes: Iterable<number> }

/** Added to the numbers that a segment has of a term already, if it has any. */
const into = sql`insert into advisory_postings as p (term, segment, count, advisories)`
const appending = sql`on conflict (term, segment) do update set count = p.count + excluded.count,
  advisories = cast(p.advisories || excluded.advisories as /*pg bytea) -- */ blob)
`

const isForeign = endianness() === 'BE'
const width = 8

/** Numbers as bytes, the least first, whatever machine it is. */
export function pack(numbers: readonly number[]): Uint8Array {
  const bytes = Buffer.from(Float64Array.from(numbers).buffer)
  return isForeign ? bytes.swap64() : bytes
}

export function unpack(bytes: Uint8Array): Float64Array {
  // As they are, where they lie as numbers do.
  const isFit = !isForeign && bytes.byteOffset % width === 0
  const { buffer, byteOffset } = isFit ? bytes : Uint8Array.from(bytes)
  if (isForeign) Buffer.from(buffer).swap64()
  return new Float64Array(buffer, byteOffset, bytes.length / width)
}

const largestPack = 120
/** The packs of a term in a segment bear the numbers that follow that of the segment. */
const packsInASegment = 32
/** As many segments lie side by side. The rare terms of all of them are kept in the first. */
const segmentsInARow = 8
const row = packsInASegment * segmentsInARow
/** A term that fewer have in a segment is rare: what is looked for is rare, so it should lie together. */
const rare = largestPack / segmentsInARow

/** Stands before all others and tells how many imports have brought of a term that is not rare. */
export const totals = -1

/** The number of a new row of segments, made from the first advisory. That of one alone is its own number. */
export const segmentOf = (uid: string) => firstInRow(numberOf(uid)) + 2 ** 52

const firstInRow = (segment: number) => segment - (segment % row)

/** The segments of an import: one for each batch, told by the uid of its first. */
export function openSegments(): (first: string) => number {
  let batches = 0
  let segment = 0
  return (first) => {
    segment = batches++ % segmentsInARow === 0 ? segmentOf(first) : segment + packsInASegment
    return segment
  }
}

/** Adds to a segment. */
export function* addPostings(segment: number, indexed: readonly Indexed[]): Work<void> {
  const postings = new Map<number, number[]>()
  for (const { number, hashes } of indexed) {
    for (const hash of hashes) {
      const numbers = postings.get(hash)
      if (numbers) numbers.push(number)
      else postings.set(hash, [number])
    }
  }
  // In the order of the index, so that neighbours are written together.
  const terms = Float64Array.from(postings.keys()).sort()
  const rows = [...terms].flatMap((term) => rowsOf(term, segment, postings.get(term) ?? []))
  if (rows.length > 0) yield bulkInsert(into, rows, appending)
}

function rowsOf(term: number, segment: number, numbers: number[]): Value[][] {
  const count = numbers.length
  if (count < rare) return [[term, firstInRow(segment), count, pack(numbers)]]
  const size = Math.max(largestPack, Math.ceil(count / packsInASegment))
  const packs = chunks(numbers, size).map((some, at) => [term, segment + at, some.length, pack(some)])
  return [[term, totals, count, pack([])], ...packs]
}

/** What an advisory is found by from now on, in place of what it was found by. */
export function* changePostings(
  segment: number,
  number: number,
  had: ReadonlySet<number>,
  has: ReadonlySet<number>,
): Work<void> {
  const [gone, come] = [had.difference(has), has.difference(had)]
  const terms = [...gone, ...come].sort((a, b) => a - b)
  if (terms.length === 0) return
  // Whoever changes the same ones waits here, in the same order.
  const shared = firstInRow(segment)
  const rows = yield* all(sql`select term, segment, advisories from advisory_postings
    where term in ${among(terms)} and segment >= ${shared} and segment < ${segment + packsInASegment}
    and (segment = ${shared} or segment >= ${segment}) order by term, segment /*pg for update */`)
  for (const [term, place, bytes] of rows as [number, number, Uint8Array][])
    if (gone.has(term)) yield* takeOut(term, place, unpack(bytes))
  yield* addPostings(segment, [{ number, hashes: come }])

  function* takeOut(term: number, place: number, numbers: Float64Array): Work<void> {
    // One of them, should two advisories have the same number.
    const at = numbers.indexOf(number)
    if (at < 0) return
    const others = [...numbers].toSpliced(at, 1)
    const where = sql`where term = ${term} and segment = ${place}`
    if (others.length === 0) yield sql`delete from advisory_postings ${where}`
    else
      yield sql`update advisory_postings set count = ${others.length}, advisories = ${pack(others)} ${where}`
  }
}
