// Looks for advisories: those that few match are found by an index and read as they are; those that many match
// are met soon enough while the list is walked.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { EventTypeFilter } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all } from '../../../store/work.ts'
import type { Found } from '../../list.ts'
import type { Field } from './terms.ts'
import { folded, hashOf, listed, termHash, termOf, trigramsOf } from './terms.ts'

/** More than these are many. */
const fewEnough = 2000
const some = 100
const rarest = 3
const mostHashes = 5000
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
    origin === undefined ? wish('artifactName', request.artifactNames) : wish('origin', [origin]),
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
  const keep = (numbers: readonly number[] | undefined) => {
    if (numbers) only = only ? only.intersection(new Set(numbers)) : new Set(numbers)
  }
  for (const wish of wishesOf(request)) {
    // Where only some are left, looking at each of them is cheaper than looking for others.
    if (!only || only.size > some) keep(yield* findFew(roots, wish, few))
    filters.push(sql`(${join(wish.map(has), ' or ')})`)
  }
  const query = folded(request.query)
  if (query !== '') {
    const texts = only ? undefined : yield* findTexts(roots, query, few)
    if (texts)
      keep(
        yield* findFew(
          roots,
          texts.map((text) => termOf('text', text)),
          few,
        ),
      )
    filters.push(contains('texts', query))
  }
  return only ? { filters, only: yield* uidsOf([...only]) } : { filters }
}

/** The numbers of advisories that have one of these terms, unless they are many. */
function* findFew(
  roots: readonly string[],
  terms: readonly string[],
  few: number,
): Work<number[] | undefined> {
  const hashes = roots.flatMap((root) => terms.map((term) => termHash(root, term)))
  if (hashes.length > mostHashes) return undefined
  if (hashes.length === 0) return []
  const rows = yield* all(sql`select distinct advisory from advisory_terms
    where term in ${among(hashes)} limit ${few + 1}`)
  return rows.length > few ? undefined : rows.map(([number]) => number as number)
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

/** The texts that hold a query, unless they are many. */
function* findTexts(roots: readonly string[], query: string, few: number): Work<string[] | undefined> {
  const found: string[] = []
  for (const root of roots) {
    const [first, ...others] = yield* rarestOf(
      trigramsOf(query).map((trigram) => hashOf(`${root}\n${trigram}`)),
    )
    // Of less than three characters there are many, or soon will be.
    if (first === undefined) return undefined
    const further = others.map(
      (trigram) => sql` and exists (select 1 from advisory_trigrams o
        where o.trigram = ${trigram} and o.content = t.content)`,
    )
    const rows = yield* all(sql`select x.content from advisory_trigrams t
      join advisory_texts x on x.number = t.content where t.trigram = ${first}${join(further, '')}
      and ${contains('x.content', query)} limit ${few + 1}`)
    for (const [content] of rows) found.push(content as string)
    if (found.length > few) return undefined
  }
  return found
}

/** The few that stand in the fewest texts: the others tell little. */
function* rarestOf(trigrams: readonly number[]): Work<number[]> {
  const counted: { trigram: number; count: number }[] = []
  for (const trigram of trigrams.slice(0, 32)) {
    const rows = yield* all(sql`select count(*) from (select 1 from advisory_trigrams
      where trigram = ${trigram} limit ${fewEnough}) t`)
    counted.push({ trigram, count: rows[0]?.[0] as number })
  }
  const sorted = counted.sort((a, b) => a.count - b.count)
  return sorted.slice(0, rarest).map(({ trigram }) => trigram)
}

const has = (term: string): Sql => contains('terms', listed([term]))

const contains = (column: 'terms' | 'texts' | 'x.content', part: string): Sql =>
  sql`/*pg strpos( -- */ instr(
  ${raw(column)}, ${part}) > 0`
