// Statements that PostgreSQL gets together, so that all of them take one round trip. Each of them is still a statement of
// its own: it sees what the ones before it have changed, and if it fails, the ones after it do not run. SQLite has no
// round trips, so it runs one work after the other.
import type { Row, Sql } from './sql.ts'
import { raw } from './sql.ts'
import { batchOf, contentOf } from './statement/statement.ts'
import { StoreError } from './store-error.ts'
import type { Work } from './work.ts'
import { abort } from './work.ts'

/**
 * Runs works side by side: the first statements of all of them are sent together, then their second ones, and so on. In
 * each round, the statements run in the order of the works. So a work must not need what an earlier one changes with its
 * second statement, and must not be affected by what a later one changes with its first.
 */
export function* together<const Works extends readonly Work<unknown>[]>(
  ...works: Works
): Work<ResultsOf<Works>> {
  const [canBatch] = yield batchQuestion
  const results = yield* canBatch ? runSideBySide(works) : runInOrder(works)
  return results as ResultsOf<Works> // each work has put its result at its position
}

type ResultsOf<Works extends readonly Work<unknown>[]> = {
  [At in keyof Works]: Works[At] extends Work<infer Result> ? Result : never
}

/** Not run as SQL: engines compare each statement with this object, and answer it with one of the constants below. */
export const batchQuestion: Sql = raw('select 0 as batch')
export const runsBatches: Row[] = [[]]
export const runsNoBatches: Row[] = []

function* runInOrder(works: readonly Work<unknown>[]): Work<unknown[]> {
  const results: unknown[] = []
  for (const work of works) results.push(yield* work)
  return results
}

function* runSideBySide(works: readonly Work<unknown>[]): Work<unknown[]> {
  const results: unknown[] = []
  let running = works.map((work, at) => ({ work, at, step: nextStatement(work) }))
  for (;;) {
    running = running.filter(({ at, step }) => {
      if (step.done) results[at] = step.value
      return !step.done
    })
    if (running.length === 0) return results
    const outcomes = yield* runBatch(running.map(({ step }) => step.value as Sql)) // works that are not done
    for (const [at, outcome] of outcomes.entries()) {
      const one = running[at]
      if (!one) throw new Error('a batch has more outcomes than statements')
      if (outcome instanceof StoreError) abort(one.work, outcome)
      one.step = nextStatement(one.work, outcome)
    }
  }
}

/** Continues a work, which may run works together itself. */
function nextStatement(work: Work<unknown>, rows: Row[] = []): IteratorResult<Sql, unknown> {
  let step = work.next(rows)
  while (step.value === batchQuestion) step = work.next(runsBatches)
  return step
}

/**
 * What became of a statement in a batch. An error is that of a violated constraint and the last outcome: the statements
 * after it did not run.
 */
export type Outcome = Row[] | StoreError

/** Runs statements, which may be batches themselves, as one batch. */
function* runBatch(statements: readonly Sql[]): Work<readonly Outcome[]> {
  const [only] = statements
  if (only && statements.length === 1) return [yield only]
  const remaining = outcomesOf(
    yield batchOf(statements.flatMap((statement) => batchIn(statement) ?? statement)),
  )
  const outcomes: Outcome[] = []
  for (const statement of statements) {
    const own = remaining.splice(0, batchIn(statement)?.length ?? 1)
    const [outcome] = own
    if (!outcome) break // an earlier statement failed
    outcomes.push(batchIn(statement) ? rowsOfOutcomes(own) : outcome)
  }
  return outcomes
}

const batchIn = (statement: Sql) => contentOf(statement).batch

/** The answer of an engine to a batch. */
export const rowsOfOutcomes = (outcomes: readonly Outcome[]): Row[] => outcomes as unknown as Row[] // see outcomesOf

const outcomesOf = (answer: Row[]) => answer as unknown as Outcome[] // see rowsOfOutcomes
