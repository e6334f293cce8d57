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
import { folded, listed, termOf, trigramsOf } from './terms.ts'

/** More than these are many. */
const few = 2000
const rarest = 3

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

/** What a request asks for, in these organizations. */
export function* search(request: ListAdvisoriesRequest, roots: readonly string[]): Work<Found> {
  const filters: Sql[] = request.excludeEventAuthors.map(
    (author) => sql`not ${has(termOf('eventAuthor', author))}`,
  )
  let only: Set<string> | undefined
  const keep = (uids: readonly string[]) => {
    only = only ? only.intersection(new Set(uids)) : new Set(uids)
  }
  for (const wish of wishesOf(request)) {
    const uids = yield* findFew(roots, wish)
    if (uids) keep(uids)
    else filters.push(sql`(${join(wish.map(has), ' or ')})`)
  }
  const query = folded(request.query)
  if (query !== '') {
    const texts = yield* findTexts(roots, query)
    const uids =
      texts &&
      (yield* findFew(
        roots,
        texts.map((text) => termOf('text', text)),
      ))
    if (uids) keep(uids)
    else filters.push(contains('texts', query))
  }
  return { filters, ...(only && { only: [...only] }) }
}

/** The uids, unless they are many. */
function* findFew(roots: readonly string[], terms: readonly string[]): Work<string[] | undefined> {
  if (terms.length === 0 || roots.length === 0) return []
  const rows = yield* all(sql`select distinct uid from advisory_terms
    where root in ${among(roots)} and term in ${among(terms)} limit ${few + 1}`)
  return rows.length > few ? undefined : rows.map(([uid]) => uid as string)
}

/** The texts that hold a query, unless they are many. */
function* findTexts(roots: readonly string[], query: string): Work<string[] | undefined> {
  if (roots.length === 0) return []
  const trigrams = yield* rarestOf(roots, trigramsOf(query))
  const [first, ...others] = trigrams
  // Of less than three characters there are many, or soon will be.
  if (first === undefined) return undefined
  const further = others.map(
    (trigram) => sql` and exists (select 1 from advisory_trigrams o
      where o.root = t.root and o.trigram = ${trigram} and o.content = t.content)`,
  )
  const rows = yield* all(sql`select distinct content from advisory_trigrams t
    where root in ${among(roots)} and trigram = ${first}${join(further, '')}
    and ${contains('content', query)} limit ${few + 1}`)
  return rows.length > few ? undefined : rows.map(([content]) => content as string)
}

/** The few that stand in the fewest texts: the others tell little. */
function* rarestOf(roots: readonly string[], trigrams: readonly string[]): Work<string[]> {
  const counted: { trigram: string; count: number }[] = []
  for (const trigram of trigrams.slice(0, 32)) {
    const rows = yield* all(sql`select count(*) from (select 1 from advisory_trigrams
      where root in ${among(roots)} and trigram = ${trigram} limit ${few}) some`)
    counted.push({ trigram, count: rows[0]?.[0] as number })
  }
  const sorted = counted.sort((a, b) => a.count - b.count)
  return sorted.slice(0, rarest).map(({ trigram }) => trigram)
}

const has = (term: string): Sql => contains('terms', listed([term]))

const contains = (column: 'terms' | 'texts' | 'content', part: string): Sql => sql`/*pg strpos( -- */ instr(
  ${raw(column)}, ${part}) > 0`
