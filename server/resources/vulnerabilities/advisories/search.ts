// Looks for advisories: those that few match are found by an index and read as they are; those that many match
// are met soon enough while the list is walked.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { EventTypeFilter } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import type { SearchResult } from '../../list.ts'
import { totals, unpack } from './postings.ts'
import type { Field } from './terms.ts'
import { folded, hashesOf, listed, termOf } from './terms.ts'

/** More than these are many. */
const fewEnough = 2000
const some = 100
const mostHashes = 5000
const mostPostings = 50_000
const mostPacks = 4096
const somePacks = 64
/** Enough of them to tell what is rare. */
const firstPacks = 8
/** Of which there are hardly many, if the first packs have no more. */
const rare = 200
const mostTrigrams = 32
const enoughTrigrams = 3
const handful = 8
const numbersAtOnce = 512

/** The terms of which an advisory must have one. */
type Wish = string[]

export function wishesOf(request: ListAdvisoriesRequest): Wish[] {
  const { origin } = request
  const wish = (field: Field, values: readonly (string | number)[]) =>
    values.map((value) => termOf(field, value))
  const latest = request.latestEventType ?? EventTypeFilter.UNSPECIFIED
  return [
    wish('advisoryId', request.advisoryIds),
    wish('legacyAdvisoryId', request.legacyAdvisoryIds),
    origin === undefined
      ? wish('artifactName', request.artifactNames)
      : [...wish('origin', [origin]), ...wish('artifactName', [origin])],
    wish('artifactType', request.artifactTypes),
    wish('artifactArchitecture', request.artifactArchitectures),
    wish('componentName', request.componentNames),
    wish('componentType', request.componentTypes),
    wish('componentLocation', request.componentLocations),
    wish('alias', request.aliases),
    wish('reviewState', request.eventReviewStates),
    wish('eventAuthor', request.eventAuthors),
    wish('eventReviewer', request.eventReviewers),
    wish('eventType', request.eventTypes),
    latest === EventTypeFilter.UNSPECIFIED ? [] : wish('latestEventType', [latest]),
  ].filter((terms) => terms.length > 0)
}

/** What a request asks for, in these organizations. What an index finds is looked at as well, for it may err. */
export function* search(
  request: ListAdvisoriesRequest,
  roots: readonly string[],
  few = fewEnough,
): Work<SearchResult> {
  const filters: Sql[] = request.excludeEventAuthors.map(
    (author) => sql`not ${has(termOf('eventAuthor', author))}`,
  )
  let only: Set<number> | undefined
  for (const wish of wishesOf(request)) {
    // Where only some are left, looking at each of them is cheaper than looking for others.
    if (!only || only.size > some) only = (yield* findFew(roots, wish, few, only)) ?? only
    filters.push(sql`(${join(wish.map(has), ' or ')})`)
  }
  const query = folded(request.query)
  if (query !== '') {
    if (!only || only.size > some) only = (yield* findTexts(roots, query, few, only)) ?? only
    filters.push(contains('texts', query))
  }
  return only ? { filters, uids: yield* uidsOf([...only]) } : { filters }
}

/** The numbers of advisories that have one of these terms, among `only`, unless they are many. */
function* findFew(
  roots: readonly string[],
  terms: readonly string[],
  few: number,
  only: Set<number> | undefined,
): Work<Set<number> | undefined> {
  const hashes = roots.flatMap((root) => [...hashesOf(root, terms, [])])
  if (hashes.length > mostHashes) return undefined
  if (hashes.length === 0) return new Set()
  if (yield* areMany(hashes)) return undefined
  const found = yield* readPostings(hashes, only)
  return found && found.size <= few ? found : undefined
}

/** The numbers of advisories with a text that may hold a query, among `only`, unless they are many. */
function* findTexts(
  roots: readonly string[],
  query: string,
  few: number,
  only: Set<number> | undefined,
): Work<Set<number> | undefined> {
  const found = new Set<number>()
  for (const root of roots) {
    const trigrams = [...hashesOf(root, [], [query])].slice(0, mostTrigrams)
    const these = yield* findRarest(trigrams, only)
    if (!these) return undefined
    for (const number of these) found.add(number)
  }
  return found.size > few ? undefined : found
}

/** Those that have the few trigrams which the fewest have: the others tell little. */
function* findRarest(
  trigrams: readonly number[],
  only: Set<number> | undefined,
): Work<Set<number> | undefined> {
  // Of less than three characters there are many, or soon will be.
  if (trigrams.length === 0) return undefined
  const counts = yield* glance(trigrams)
  const rarest = trigrams
    .map((trigram, at) => ({ trigram, count: counts[at] ?? 0 }))
    .sort((a, b) => a.count - b.count)
    .slice(0, enoughTrigrams)
  let found: Set<number> | undefined
  for (const { trigram, count } of rarest) {
    if (found && found.size <= handful) break
    if (count > rare && (yield* areMany([trigram]))) break
    const these = yield* readPostings([trigram], found ?? only)
    if (!these) break
    found = these
  }
  return found
}

/** How many there are of each, or in its first packs, which tells the rare from the others. */
function* glance(hashes: readonly number[]): Work<number[]> {
  const arms = hashes.map(
    (hash, at) => sql`select ${raw(String(at))} as at, coalesce(
      (select count from advisory_postings where term = ${hash} and segment = ${totals}),
      (select sum(count) from (select count from advisory_postings where term = ${hash}
        limit ${raw(String(firstPacks))}) t)) as count`,
  )
  const rows = yield* all(sql`${join(arms, ' union all ')} order by at`)
  return rows.map(([, count]) => Number(count ?? 0))
}

/** Looks no further than it must. */
function* areMany(hashes: readonly number[]): Work<boolean> {
  const [told] = yield* all(sql`select sum(count) from advisory_postings
    where term in ${among(hashes)} and segment = ${totals}`)
  if (Number(told?.[0] ?? 0) > mostPostings) return true
  for (let packs = somePacks; packs <= mostPacks; packs *= 8) {
    const rows = yield* all(sql`select sum(count), count(*) from (select count from advisory_postings
      where term in ${among(hashes)} and segment > ${totals} limit ${packs}) t`)
    const [count, seen] = rows[0] as [number | null, number]
    if ((count ?? 0) > mostPostings) return true
    if (seen < packs) return false
  }
  return true
}

/** Unless they lie in too many packs. */
function* readPostings(
  hashes: readonly number[],
  only: Set<number> | undefined,
): Work<Set<number> | undefined> {
  const found = new Set<number>()
  const rows = yield* all(sql`select advisories from advisory_postings
    where term in ${among(hashes)} and segment > ${totals} limit ${mostPacks}`)
  if (rows.length === mostPacks) return undefined
  for (const [bytes] of rows)
    for (const number of unpack(bytes as Uint8Array)) if (only?.has(number) ?? true) found.add(number)
  return found
}

function* uidsOf(numbers: readonly number[]): Work<string[]> {
  const uids: string[] = []
  for (let at = 0; at < numbers.length; at += numbersAtOnce) {
    const some = among(numbers.slice(at, at + numbersAtOnce))
    for (const [uid] of yield sql`select uid from advisories where number in ${some}`)
      uids.push(uid as string)
  }
  return uids
}

const has = (term: string): Sql => contains('terms', listed([term]))

const contains = (column: 'terms' | 'texts', part: string): Sql =>
  sql`/*pg strpos( -- */ instr(
  ${raw(column)}, ${part}) > 0`
