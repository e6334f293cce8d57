// Looks for advisories: those that few match are found by an index and read as they are; those that many match
// are met soon enough while the list is walked.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { EventTypeFilter } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import type { Found } from '../../list.ts'
import { unpack } from './postings.ts'
import type { Field } from './terms.ts'
import { folded, hashesOf, listed, termOf } from './terms.ts'

/** More than these are many. */
const fewEnough = 2000
const some = 100
const mostHashes = 5000
const mostPostings = 50_000
const mostSegments = 5000
const mostTrigrams = 32
const enoughTrigrams = 3
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
): Work<Found> {
  const filters: Sql[] = request.excludeEventAuthors.map(
    (author) => sql`not ${has(termOf('eventAuthor', author))}`,
  )
  let only: Set<number> | undefined
  const keep = (numbers: Set<number> | undefined) => {
    if (numbers) only = only ? only.intersection(numbers) : numbers
  }
  for (const wish of wishesOf(request)) {
    // Where only some are left, looking at each of them is cheaper than looking for others.
    if (!only || only.size > some) keep(yield* findFew(roots, wish, few))
    filters.push(sql`(${join(wish.map(has), ' or ')})`)
  }
  const query = folded(request.query)
  if (query !== '') {
    if (!only || only.size > some) keep(yield* findTexts(roots, query, few))
    filters.push(contains('texts', query))
  }
  return only ? { filters, only: yield* uidsOf([...only]) } : { filters }
}

/** The numbers of advisories that have one of these terms, unless they are many. */
function* findFew(
  roots: readonly string[],
  terms: readonly string[],
  few: number,
): Work<Set<number> | undefined> {
  const hashes = roots.flatMap((root) => [...hashesOf(root, terms, [])])
  if (hashes.length > mostHashes) return undefined
  if (hashes.length === 0) return new Set()
  if ((yield* countPostings(hashes)) > mostPostings) return undefined
  const found = yield* readPostings(hashes)
  return found.size > few ? undefined : found
}

/** The numbers of advisories with a text that may hold a query, unless they are many. */
function* findTexts(roots: readonly string[], query: string, few: number): Work<Set<number> | undefined> {
  const found: Set<number>[] = []
  for (const root of roots) {
    const some = yield* findRarest([...hashesOf(root, [], [query])].slice(0, mostTrigrams))
    if (!some) return undefined
    found.push(some)
  }
  const numbers = new Set(found.flatMap((some) => [...some]))
  return numbers.size > few ? undefined : numbers
}

/** Those that have the few trigrams which the fewest have: the others tell little. */
function* findRarest(trigrams: readonly number[]): Work<Set<number> | undefined> {
  const counted: { trigram: number; count: number }[] = []
  for (const trigram of trigrams) counted.push({ trigram, count: yield* countPostings([trigram]) })
  const rarest = counted.sort((a, b) => a.count - b.count).slice(0, enoughTrigrams)
  let found: Set<number> | undefined
  for (const { trigram, count } of rarest) {
    if (count > mostPostings || (found && found.size <= some)) break
    const these = yield* readPostings([trigram])
    found = found ? found.intersection(these) : these
  }
  return found
}

/** How many there are, as far as that matters. */
function* countPostings(hashes: readonly number[]): Work<number> {
  const rows = yield* all(sql`select sum(count), count(*) from (select count from advisory_postings
    where term in ${among(hashes)} limit ${mostSegments}) t`)
  const [count, segments] = rows[0] as [number | null, number]
  return segments < mostSegments ? (count ?? 0) : Number.POSITIVE_INFINITY
}

function* readPostings(hashes: readonly number[]): Work<Set<number>> {
  const rows = yield* all(sql`select advisories from advisory_postings where term in ${among(hashes)}`)
  return new Set(rows.flatMap(([bytes]) => unpack(bytes as Uint8Array)))
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
