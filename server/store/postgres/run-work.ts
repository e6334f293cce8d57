// Runs a statement or a whole work on a connection.
import type pg from 'pg'
import type { Clock } from '../clock.ts'
import { rowsOfSnapshot, snapshotStatement } from '../snapshot.ts'
import type { Row, Sql, Value } from '../sql.ts'
import { join, raw, sql, tuple } from '../sql.ts'
import { contentOf } from '../statement/statement.ts'
import type { Template } from '../statement/template.ts'
import { StoreError } from '../store-error.ts'
import type { Outcome } from '../together.ts'
import { batchQuestion, rowsOfOutcomes, runsBatches } from '../together.ts'
import type { Work } from '../work.ts'
import { abort } from '../work.ts'
import { translateConstraint } from './errors.ts'
import { sendTogether, withReplyTimeout } from './pool.ts'
import type { StatementTexts } from './statement-text.ts'

/** PostgreSQL allows 65,535 values in a statement, and a row has at most about twenty. */
const rowsPerInsert = 500

export type Runner = {
  client: pg.PoolClient
  texts: StatementTexts
  /** How long the driver waits for the result of a statement. */
  replyTimeoutMs: number
}

/** `begun` resolves when PostgreSQL has begun the transaction. */
type TransactionRunner = Runner & { begun: Promise<unknown> }

export async function runWork<T>(
  runner: TransactionRunner,
  work: Work<T>,
  now: Clock['now'],
  deadline: number,
): Promise<T> {
  let deferred: Sql[] = []
  let step = work.next()
  while (!step.done) {
    if (now() > deadline) throw new StoreError('deadline')
    const statement = step.value
    if (statement === snapshotStatement) step = work.next(noSnapshot)
    else if (statement === batchQuestion) step = work.next(runsBatches)
    else if (contentOf(statement).deferral) {
      deferred.push(statement)
      step = work.next([])
    } else {
      const outcome = await runInTransaction(runner, [...deferred, statement])
      deferred = []
      step = outcome instanceof StoreError ? abort(work, outcome) : work.next(outcome)
    }
  }
  const outcome = await runInTransaction(runner, deferred)
  if (outcome instanceof StoreError) throw outcome
  return step.value
}

const noSnapshot = rowsOfSnapshot(undefined)

/**
 * Runs statements in one round trip, and returns the first error or the rows of the last statement. Queries are sent
 * together with `begin`, which saves another round trip. A change waits for `begin`: if that fails, a change would be
 * committed at once, because it would be outside of a transaction.
 */
async function runInTransaction(runner: TransactionRunner, statements: readonly Sql[]): Promise<Outcome> {
  if (!statements.every(isQuery)) await runner.begun
  try {
    return (await runTogether(runner, statements)).at(-1) ?? []
  } finally {
    // Rows that were read outside of a transaction are not used. `begin` was answered before the statements.
    await runner.begun
  }
}

function isQuery(statement: Sql): boolean {
  const { batch, template } = contentOf(statement)
  return batch ? batch.every(isQuery) : /^select /.test(template[0] ?? '')
}

/** Returns the outcomes up to the first error, after which PostgreSQL refuses the other statements of the transaction. */
async function runTogether(runner: Runner, statements: readonly Sql[]): Promise<Outcome[]> {
  const running = sendTogether(runner.client, () =>
    statements.map((statement) => outcomeOf(runner, statement)),
  )
  const settled = await Promise.allSettled(running)
  const outcomes: Outcome[] = []
  for (const result of settled) {
    if (result.status === 'rejected') throw result.reason
    outcomes.push(result.value)
    if (result.value instanceof StoreError) break
  }
  return outcomes
}

/** Returns the error of a violated constraint, and throws others. */
async function outcomeOf(runner: Runner, statement: Sql): Promise<Outcome> {
  if (statement === snapshotStatement) return noSnapshot
  const { batch } = contentOf(statement)
  if (batch) return rowsOfOutcomes(await runTogether(runner, batch))
  try {
    return await runStatement(runner, statement)
  } catch (error) {
    const translated = translateConstraint(error)
    if (translated instanceof StoreError) return translated
    throw error
  }
}

export async function runStatement(runner: Runner, statement: Sql): Promise<Row[]> {
  const { template, values, rows } = contentOf(statement)
  if (rows) return insertRows(runner, template, rows)
  const query = {
    ...runner.texts(template),
    values: values as Value[], // the driver does not change them
    rowMode: 'array' as const,
  }
  return (await runner.client.query<Value[]>(withReplyTimeout(query, runner.replyTimeoutMs))).rows
}

/** Inserts up to `rowsPerInsert` rows with each statement, and sends these together, to save round trips. */
async function insertRows(
  { client, texts, replyTimeoutMs }: Runner,
  into: Template,
  rows: readonly (readonly Value[])[],
): Promise<Row[]> {
  const inserts: Promise<unknown>[] = []
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    const { template, values } = contentOf(insertOf(into, rows.slice(at, at + rowsPerInsert)))
    const query = { ...texts(template), values: values as Value[] } // the driver does not change them
    inserts.push(client.query(withReplyTimeout(query, replyTimeoutMs)))
  }
  await Promise.all(inserts)
  return []
}

const insertOf = ([head = '', tail = '']: Template, rows: readonly (readonly Value[])[]) =>
  sql`${raw(head)} ${join(rows.map(tuple), ', ')} ${raw(tail)}`
