// Plans how a filtered list of advisories is read.
//
// Each requirement, and then the query, is looked up in the search index, and the advisories that were found become the
// only candidates for the next look-up. A requirement that too many advisories meet is skipped. If at least one
// requirement was not skipped, the list reads the candidates by uid. Otherwise many advisories meet each requirement,
// so a scan in the order of the list soon finds enough matches.
//
// In both cases each row is tested as well, by its columns `terms` and `texts`: hashes in the index may collide, and
// a text that has all trigrams of the query need not contain the whole query.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { ListAdvisoriesRequestSchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import type { FindOptions } from '../../../store/postings/find.ts'
import { findAny, findByTrigrams, maxTerms } from '../../../store/postings/find.ts'
import { termHashes } from '../../../store/postings/term-hash.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { SearchResult } from '../../list.ts'
import type { Requirement } from './requirements.ts'
import { requirementsOf } from './requirements.ts'
import { advisoryIndex, foldCase, joinLines, termOf } from './terms.ts'

/** With more candidates than this, scanning the list is cheaper. Measured with bench/cases/advisories.ts. */
const maxCandidates = 2000
/** With at most this many candidates, testing each is cheaper than another look-up (bench/cases/advisories.ts). */
const fewCandidates = 100
/**
 * A scan tests each row with each value, so many values make it expensive. With more values than
 * this, the limit of candidates is higher, up to `maxCandidatesOfManyValues`, so that fewer requests
 * need a scan.
 */
const manyValues = 30
/** The maximum number of candidates for requests with more than `manyValues` values. */
const maxCandidatesOfManyValues = 10_000
/** The maximum number of comparisons, rows times values, for one list: about a second on the embedded store. */
const maxComparisons = 2_000_000
/** The maximum number of organizations in which a query is looked up. Each look-up takes several statements. */
const maxQueriedRoots = 100
/** Values are joined with `or` in groups of this size: SQLite limits the depth of an expression to 1000. */
const valuesPerGroup = 100
/** The maximum number of document numbers in the `in (…)` of one statement. */
const numbersPerStatement = 512

/**
 * The document numbers of the candidates. Undefined if all look-ups so far were skipped: any
 * advisory may match.
 */
type Candidates = ReadonlySet<number> | undefined

export type SearchLimits = {
  /**
   * The maximum number of postings to read. If more would have to be read, the search throws a StoreError `expensive`.
   */
  maxPostings?: number | undefined
  candidateLimit?: number | undefined
  comparisonLimit?: number | undefined
}

/**
 * The filters of a list in these organizations, and the uids of the candidates unless all requirements were skipped.
 */
export function* search(
  request: ListAdvisoriesRequest,
  roots: readonly string[],
  { maxPostings, candidateLimit, comparisonLimit = maxComparisons }: SearchLimits = {},
): Work<SearchResult> {
  const maxFound = candidateLimit ?? candidateLimitFor(totalValues(request))
  const filters: Sql[] = request.excludeEventAuthors.map(
    (author) => sql`not ${hasTerm(termOf('eventAuthor', author))}`,
  )
  let candidates: Candidates
  for (const requirement of requirementsOf(request)) {
    candidates = yield* narrow(candidates, maxFound, (current) =>
      findRequirement(roots, requirement, { candidates: current, maxPostings }),
    )
    filters.push(hasAnyTerm(requirement))
  }
  const query = foldCase(request.query)
  if (query !== '') {
    candidates = yield* narrow(candidates, maxFound, (current) =>
      findQuery(roots, query, { candidates: current, maxPostings }),
    )
    filters.push(contains('texts', query))
  }
  yield* requireFewComparisons(request, roots, candidates, comparisonLimit)
  return candidates ? { filters, uids: yield* uidsOf([...candidates]) } : { filters }
}

const candidateLimitFor = (values: number) =>
  values <= manyValues
    ? maxCandidates
    : Math.max(maxCandidates, Math.min(maxCandidatesOfManyValues, maxComparisons / values))

/** The filters that are lists of values, each with its number of values. */
function valueCountsOf(request: ListAdvisoriesRequest): [field: string, count: number][] {
  const { fields } = ListAdvisoriesRequestSchema
  const message = request as unknown as Record<string, unknown>
  return fields.flatMap(({ fieldKind, name, localName }): [string, number][] =>
    fieldKind === 'list' ? [[name, (message[localName] as unknown[]).length]] : [],
  )
}

const totalValues = (request: ListAdvisoriesRequest) =>
  valueCountsOf(request).reduce((sum, [, count]) => sum + count, 0)

/** Each row is tested with each value, so a request with many values on many rows would block the store. */
function* requireFewComparisons(
  request: ListAdvisoriesRequest,
  roots: readonly string[],
  candidates: Candidates,
  comparisonLimit: number,
): Work<void> {
  const values = totalValues(request)
  if (values <= manyValues || roots.length === 0) return
  const maxRows = Math.floor(comparisonLimit / values)
  const rows = candidates?.size ?? (yield* countRows(roots, maxRows + 1))
  if (rows <= maxRows) return
  const [[field] = ['']] = valueCountsOf(request).sort(([, a], [, b]) => b - a)
  throw invalidField(
    field,
    `the filters have ${values} values together and match too many advisories; use at most ${manyValues} values, or add a filter that matches fewer advisories`,
  )
}

/** The number of advisories in these organizations, counted up to `limit`. */
function* countRows(roots: readonly string[], limit: number): Work<number> {
  const [row] = yield sql`select count(*) from
    (select 1 from advisories where root in ${among(roots)} limit ${limit}) t`
  return Number(row?.[0] ?? 0)
}

/** Replaces the candidates by those that `find` returns, unless few are left already or `find` returns too many. */
function* narrow(
  candidates: Candidates,
  candidateLimit: number,
  find: (candidates: Candidates) => Work<Candidates>,
): Work<Candidates> {
  if (candidates && candidates.size <= fewCandidates) return candidates
  const found = yield* find(candidates)
  return found && found.size <= candidateLimit ? found : candidates
}

function* findRequirement(
  roots: readonly string[],
  requirement: Requirement,
  options: FindOptions,
): Work<Candidates> {
  if (roots.length * requirement.length > maxTerms) return undefined
  const hashes = roots.flatMap((root) => [...termHashes(root, requirement, [])])
  return yield* findAny(advisoryIndex, hashes, options)
}

/**
 * Undefined if the query is shorter than a trigram, if its trigrams are too common, or if it would be looked up in too
 * many organizations.
 */
function* findQuery(roots: readonly string[], query: string, options: FindOptions): Work<Candidates> {
  if (roots.length > maxQueriedRoots) return undefined
  const found = new Set<number>()
  for (const root of roots) {
    const numbers = yield* findByTrigrams(advisoryIndex, [...termHashes(root, [], [query])], options)
    if (!numbers) return undefined
    for (const number of numbers) found.add(number)
  }
  return found
}

function* uidsOf(numbers: readonly number[]): Work<string[]> {
  const uids: string[] = []
  for (let at = 0; at < numbers.length; at += numbersPerStatement) {
    const chunk = among(numbers.slice(at, at + numbersPerStatement))
    for (const [uid] of yield sql`select uid from advisories where number in ${chunk}`)
      uids.push(uid as string)
  }
  return uids
}

function hasAnyTerm(terms: readonly string[]): Sql {
  const groups: Sql[] = []
  for (let at = 0; at < terms.length; at += valuesPerGroup)
    groups.push(sql`(${join(terms.slice(at, at + valuesPerGroup).map(hasTerm), ' or ')})`)
  return sql`(${join(groups, ' or ')})`
}

const hasTerm = (term: string): Sql => contains('terms', joinLines([term]))

const contains = (column: 'terms' | 'texts', text: string): Sql =>
  sql`/*pg strpos( -- */ instr(
  ${raw(column)}, ${text}) > 0`
