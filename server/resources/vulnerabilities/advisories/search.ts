// Plans how a filtered list of advisories is read.
//
// Each requirement, and then the query, is looked up in the search index, and the advisories that were found become the
// only candidates for the next look-up. A requirement that too many advisories meet is skipped. If some
// requirement was not skipped, the list reads the candidates by uid. Otherwise every requirement is common, so the list
// is scanned in its own order and soon finds enough matches.
//
// In both cases each row is tested as well, by its columns `terms` and `texts`: hashes in the index may collide, and
// trigrams do not say that a text contains the whole query.
import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { findAny, findTrigrams } from '../../../store/postings/find.ts'
import { termHashes } from '../../../store/postings/term-hash.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, join, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { SearchResult } from '../../list.ts'
import type { Requirement } from './requirements.ts'
import { requirementsOf } from './requirements.ts'
import { advisoryIndex, foldCase, joinLines, termOf } from './terms.ts'

/** With more candidates than this, scanning the list is cheaper. Set by bench/cases/advisories.ts. */
const maxCandidates = 2000
/** With no more candidates than this, testing each is cheaper than another look-up. Set by bench/cases/advisories.ts. */
const fewCandidates = 100
/** Numbers in the `in (…)` of one statement. */
const numbersPerStatement = 512

/** The numbers of advisories. Undefined if all requirements so far were skipped: every advisory is a candidate. */
type Candidates = ReadonlySet<number> | undefined

/** The filters of a list in these organizations, and the uids of the candidates unless all requirements were skipped. */
export function* search(
  request: ListAdvisoriesRequest,
  roots: readonly string[],
  limit = maxCandidates,
): Work<SearchResult> {
  const filters: Sql[] = request.excludeEventAuthors.map(
    (author) => sql`not ${hasTerm(termOf('eventAuthor', author))}`,
  )
  let candidates: Candidates
  for (const requirement of requirementsOf(request)) {
    candidates = yield* narrow(candidates, limit, (current) => findRequirement(roots, requirement, current))
    filters.push(sql`(${join(requirement.map(hasTerm), ' or ')})`)
  }
  const query = foldCase(request.query)
  if (query !== '') {
    candidates = yield* narrow(candidates, limit, (current) => findQuery(roots, query, current))
    filters.push(contains('texts', query))
  }
  return candidates ? { filters, uids: yield* uidsOf([...candidates]) } : { filters }
}

/** Replaces the candidates by those that are found, unless there are few already or too many are found. */
function* narrow(
  candidates: Candidates,
  limit: number,
  find: (candidates: Candidates) => Work<Candidates>,
): Work<Candidates> {
  if (candidates && candidates.size <= fewCandidates) return candidates
  const found = yield* find(candidates)
  return found && found.size <= limit ? found : candidates
}

function findRequirement(
  roots: readonly string[],
  requirement: Requirement,
  candidates: Candidates,
): Work<Candidates> {
  const hashes = roots.flatMap((root) => [...termHashes(root, requirement, [])])
  return findAny(advisoryIndex, hashes, candidates)
}

/** Undefined if the query has fewer than three characters, so no trigrams, or if its trigrams are too common. */
function* findQuery(roots: readonly string[], query: string, candidates: Candidates): Work<Candidates> {
  const found = new Set<number>()
  for (const root of roots) {
    const numbers = yield* findTrigrams(advisoryIndex, [...termHashes(root, [], [query])], candidates)
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

const hasTerm = (term: string): Sql => contains('terms', joinLines([term]))

const contains = (column: 'terms' | 'texts', text: string): Sql =>
  sql`/*pg strpos( -- */ instr(
  ${raw(column)}, ${text}) > 0`
