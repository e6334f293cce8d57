// Writes what advisories are found by: for each term the numbers of those that have it, packed by segment, since
// there are dozens of terms for each advisory.
import { endianness } from 'node:os'
import { among, sql, withRows } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { numberOf } from './terms.ts'

/** An advisory with the hashes of all that it is found by. */
export type Indexed = { number: number; hashes: Iterable<number> }

/** Added to the numbers that a segment has of a term already, if it has any. */
const appending = sql`insert into advisory_postings as p (term, segment, count, advisories) values ${null}
  on conflict (term, segment) do update set count = p.count + excluded.count,
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

/** As many segments lie side by side. The rare terms of all of them are kept in the first. */
const segmentsInARow = 8
/** A term that fewer have in a segment is rare. What is rare is what is looked for, so it should lie together. */
const rare = 64

/** The number of a new row of segments, made from the first advisory. That of one alone is its own number. */
export const segmentOf = (uid: string) => firstInRow(numberOf(uid)) + 2 ** 52

const firstInRow = (segment: number) => segment - (segment % segmentsInARow)

/** The segments of an import: one for each batch, told by the uid of its first. */
export function openSegments(): (first: string) => number {
  let batches = 0
  let segment = 0
  return (first) => {
    segment = batches++ % segmentsInARow === 0 ? segmentOf(first) : segment + 1
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
  if (terms.length > 0) yield withRows(appending, Array.from(terms, rowOf))

  function rowOf(term: number) {
    const numbers = postings.get(term) ?? []
    const place = numbers.length < rare ? firstInRow(segment) : segment
    return [term, place, numbers.length, pack(numbers)]
  }
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
  const rows = yield* all(sql`select term, segment, advisories from advisory_postings
    where segment in ${among([firstInRow(segment), segment])} and term in ${among(terms)}
    order by term, segment /*pg for update */`)
  for (const [term, place, bytes] of rows as [number, number, Uint8Array][])
    if (gone.has(term)) yield* takeOut(term, place, unpack(bytes))
  yield* addPostings(segment, [{ number, hashes: come }])

  function* takeOut(term: number, place: number, numbers: Float64Array): Work<void> {
    const others = [...numbers].filter((other) => other !== number)
    if (others.length === numbers.length) return
    const where = sql`where term = ${term} and segment = ${place}`
    if (others.length === 0) yield sql`delete from advisory_postings ${where}`
    else
      yield sql`update advisory_postings set count = ${others.length}, advisories = ${pack(others)} ${where}`
  }
}
