// Writes what advisories are found by: for each term the numbers of those that have it, packed by segment, since
// there are dozens of terms for each advisory.
import { endianness } from 'node:os'
import { among, sql } from '../../../store/sql.ts'
import { insertRows } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import { numberOf } from './terms.ts'

/** An advisory with the hashes of all that it is found by. */
export type Indexed = { number: number; hashes: Iterable<number> }

const columns = ['term', 'segment', 'count', 'advisories']

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

/** The number of a new segment of many, made from the first of them. Those of one have the number of that one. */
export const segmentOf = (uid: string) => numberOf(uid) + 2 ** 52

/** All of a new segment. */
export function* addSegment(segment: number, indexed: readonly Indexed[]): Work<void> {
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
  yield* insertRows('advisory_postings', columns, Array.from(terms, rowOf))

  function rowOf(term: number) {
    const numbers = postings.get(term) ?? []
    return [term, segment, numbers.length, pack(numbers)]
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
  const rows = yield* all(sql`select term, advisories from advisory_postings
    where segment = ${segment} and term in ${among(terms)} order by term /*pg for update */`)
  const before = new Map(rows.map(([term, bytes]) => [term as number, unpack(bytes as Uint8Array)]))
  for (const term of terms) {
    const others = [...(before.get(term) ?? [])].filter((other) => other !== number)
    yield* replace(term, come.has(term) ? [...others, number] : others)
  }

  function* replace(term: number, numbers: number[]): Work<void> {
    const isThere = before.has(term)
    if (numbers.length === 0)
      yield sql`delete from advisory_postings where term = ${term} and segment = ${segment}`
    else if (isThere)
      yield sql`update advisory_postings set count = ${numbers.length}, advisories = ${pack(numbers)}
        where term = ${term} and segment = ${segment}`
    else yield* insertRows('advisory_postings', columns, [[term, segment, numbers.length, pack(numbers)]])
  }
}
