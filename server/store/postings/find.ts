// Finds documents by their terms, unless so many match that a scan is cheaper. The limits were chosen with
// bench/cases/advisories.ts, so that a search among 200,000 advisories takes at most twice as long as among 2,000.
import { among, join, raw, sql } from '../sql.ts'
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import { all } from '../work.ts'
import { totalSegment } from './numbering.ts'
import { unpack } from './pack.ts'
import type { PostingIndex } from './postings.ts'

/** The maximum number of terms that one search looks up together. */
export const maxTerms = 5000
/** The maximum number of postings that one search reads. */
const postingLimit = 50_000
/** The maximum number of packs that one search reads. */
const packLimit = 4096
/** The postings of this many packs are counted first. If there are more packs, eight times as many are counted next. */
const firstCountedPacks = 64

/** The maximum number of trigrams of a text that are considered. */
const trigramLimit = 32
/** The number of packs whose postings are counted to estimate how rare a trigram is. */
const packsPerEstimate = 8
/** A trigram with at most this many postings in its first packs is read without counting its other packs. */
const rareTrigramPostings = 200
/** Only this many trigrams are looked up, the rarest ones. Further trigrams exclude few documents. */
const usedTrigrams = 3
/** If at most this many documents are left, no further trigram is looked up. */
const fewDocuments = 8

export type FindOptions = {
  /** If given, only candidates are returned. */
  candidates?: ReadonlySet<number> | undefined
  /**
   * A search that would read more postings than this throws a StoreError `expensive`. If there are more than
   * `postingLimit`, they are not read, and nothing is thrown.
   */
  maxPostings?: number | undefined
}

/**
 * The numbers of the documents that have any of the terms. Undefined if the terms have too many postings to be read.
 */
export function* findAny(
  index: PostingIndex,
  hashes: readonly number[],
  options: FindOptions = {},
): Work<Set<number> | undefined> {
  if (hashes.length > maxTerms) return undefined
  if (hashes.length === 0) return new Set()
  if (!(yield* areReadable(index, hashes, options))) return undefined
  return yield* readNumbers(index, hashes, options.candidates)
}

/**
 * The numbers of the documents that have the rarest trigrams. Undefined if there are no trigrams or all of them
 * are too common.
 */
export function* findByTrigrams(
  index: PostingIndex,
  trigrams: readonly number[],
  options: FindOptions = {},
): Work<Set<number> | undefined> {
  if (trigrams.length === 0) return undefined
  const considered = trigrams.slice(0, trigramLimit)
  const counts = yield* estimateCounts(index, considered)
  const rarest = considered
    .map((trigram, at) => ({ trigram, count: counts[at] ?? 0 }))
    .sort((a, b) => a.count - b.count)
    .slice(0, usedTrigrams)
  let matches: Set<number> | undefined
  for (const { trigram, count } of rarest) {
    if (matches && matches.size <= fewDocuments) break
    if (count > rareTrigramPostings && !(yield* areReadable(index, [trigram], options))) break
    const numbers = yield* readNumbers(index, [trigram], matches ?? options.candidates)
    if (!numbers) break
    matches = numbers
  }
  return matches
}

/** The stored total of each term; for a term without a stored total, the number of postings in its first packs. */
function* estimateCounts({ table }: PostingIndex, hashes: readonly number[]): Work<number[]> {
  const packs = raw(table)
  const selects = hashes.map(
    (hash, at) => sql`select coalesce(
      (select count from ${packs} where term = ${hash} and segment = ${totalSegment}),
      (select sum(count) from (select count from ${packs} where term = ${hash}
        limit ${raw(String(packsPerEstimate))}) t)) as count, ${raw(String(at))} as at`,
  )
  const rows = yield* all(sql`${join(selects, ' union all ')} order by at`)
  return rows.map(([count]) => Number(count ?? 0))
}

/** False if the terms have too many postings. */
function* areReadable(
  index: PostingIndex,
  hashes: readonly number[],
  { maxPostings = postingLimit }: FindOptions,
): Work<boolean> {
  const postings = yield* countPostings(index, hashes)
  if (postings > postingLimit) return false
  if (postings > maxPostings) throw new StoreError('expensive')
  return true
}

/** Reads the stored totals first, then counts only as many packs as needed. Infinity if there are too many packs. */
function* countPostings({ table }: PostingIndex, hashes: readonly number[]): Work<number> {
  const [total] = yield* all(sql`select sum(count) from ${raw(table)}
    where term in ${among(hashes)} and segment = ${totalSegment}`)
  const storedTotal = Number(total?.[0] ?? 0)
  if (storedTotal > postingLimit) return storedTotal
  for (let packs = firstCountedPacks; packs <= packLimit; packs *= 8) {
    const rows = yield* all(sql`select sum(count), count(*) from (select count from ${raw(table)}
      where term in ${among(hashes)} and segment > ${totalSegment} limit ${packs}) t`)
    const [postings, countedPacks] = rows[0] as [number | null, number] // an aggregate has one row
    if ((postings ?? 0) > postingLimit || countedPacks < packs) return postings ?? 0
  }
  return Number.POSITIVE_INFINITY
}

/** Undefined if there are too many packs. */
function* readNumbers(
  index: PostingIndex,
  hashes: readonly number[],
  candidates: ReadonlySet<number> | undefined,
): Work<Set<number> | undefined> {
  const rows = yield* all(sql`select ${raw(index.numbersColumn)} from ${raw(index.table)}
    where term in ${among(hashes)} and segment > ${totalSegment} limit ${packLimit}`)
  if (rows.length === packLimit) return undefined
  const matches = new Set<number>()
  for (const [bytes] of rows)
    for (const number of unpack(bytes as Uint8Array)) if (candidates?.has(number) ?? true) matches.add(number)
  return matches
}
