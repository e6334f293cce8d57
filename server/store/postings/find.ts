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
/** The postings of this many packs of each trigram are counted first, then those of eight times as many if needed. */
const firstCountedTrigramPacks = 8
/** The maximum number of packs that one statement counts. */
const countedPackLimit = 8192
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
  const counted = yield* countRareTrigrams(index, trigrams.slice(0, trigramLimit))
  const rarest = counted.sort((a, b) => a.count - b.count).slice(0, usedTrigrams)
  const { candidates, maxPostings = postingLimit } = options
  let matches: Set<number> | undefined
  for (const { trigram, count } of rarest) {
    if (matches && (matches.size <= fewDocuments || count > maxPostings)) break
    if (count > maxPostings) throw new StoreError('expensive')
    matches = (yield* readNumbers(index, [trigram], matches ?? candidates)) ?? matches
  }
  return matches
}

type CountedTrigram = { trigram: number; count: number }

/**
 * The trigrams with the fewest packs, and the number of their postings. Trigrams with too many
 * postings to be read are left out. A document that was written alone has packs of its own, so the
 * first packs of a trigram do not tell how common it is.
 */
function* countRareTrigrams(index: PostingIndex, trigrams: readonly number[]): Work<CountedTrigram[]> {
  const counted: CountedTrigram[] = []
  let uncounted = trigrams
  const isEnough = () => counted.length >= usedTrigrams || counted.some(({ count }) => count <= fewDocuments)
  for (let packs = firstCountedTrigramPacks; packs <= packLimit; packs *= 8) {
    if (uncounted.length === 0 || isEnough()) break
    // If there are too many, the first ones are left out: the end of CVE-2026-1234 is more specific than its beginning.
    uncounted = uncounted.slice(-countedPackLimit / packs)
    const counts = yield* countFirstPacks(index, uncounted, packs)
    const common: number[] = []
    for (const [at, trigram] of uncounted.entries()) {
      const { total, postings, countedPacks } = counts[at] as PackCounts // there is one for each trigram
      if (Math.max(total, postings) > postingLimit) continue
      if (countedPacks < packs) counted.push({ trigram, count: postings })
      else common.push(trigram)
    }
    uncounted = common
  }
  return counted
}

type PackCounts = { total: number; postings: number; countedPacks: number }

/** For each term its stored total, and the number of postings in its first packs. */
function* countFirstPacks(
  { table }: PostingIndex,
  hashes: readonly number[],
  packs: number,
): Work<PackCounts[]> {
  const selects = hashes.map(
    (hash, at) => sql`select
      (select count from ${raw(table)} where term = ${hash} and segment = ${totalSegment}), sum(count), count(*),
      ${raw(String(at))} as at
      from (select count from ${raw(table)} where term = ${hash} and segment > ${totalSegment}
        limit ${packs}) t`,
  )
  const rows = yield* all(sql`${join(selects, ' union all ')} order by at`)
  return rows.map(([total, postings, countedPacks]) => ({
    total: Number(total ?? 0),
    postings: Number(postings ?? 0),
    countedPacks: Number(countedPacks),
  }))
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
