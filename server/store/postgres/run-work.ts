// Runs a statement or a whole work on a connection.
import type pg from 'pg'
import type { Clock } from '../clock.ts'
import { rowsOfSnapshot, snapshotStatement } from '../snapshot.ts'
import type { Row, Sql, Value } from '../sql.ts'
import { join, raw, sql, tuple } from '../sql.ts'
import { contentOf } from '../statement/statement.ts'
import type { Template } from '../statement/template.ts'
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import { abort } from '../work.ts'
import { translateConstraint } from './errors.ts'
import { withReplyTimeout } from './pool.ts'
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
  let deferred: Sql | undefined
  let step = work.next()
  while (!step.done) {
    if (now() > deadline) throw new StoreError('deadline')
    let statement = step.value
    if (statement === snapshotStatement) {
      step = work.next(rowsOfSnapshot(undefined))
      continue
    }
    if (deferred) {
      const both = combined(deferred, statement)
      if (both) statement = both
      else await runInWork(runner, work, deferred)
      deferred = undefined
    }
    if (contentOf(statement).deferral) {
      deferred = statement
      step = work.next([])
    } else step = work.next(await runInWork(runner, work, statement))
  }
  if (deferred) await runInTransaction(runner, deferred)
  await runner.begun
  return step.value
}

/**
 * One statement that inserts a deferred row and makes another change. It saves a round trip: a create takes 9 instead
 * of 10. Undefined for queries and bulk inserts, since there would be too many different combinations. Both parts read
 * the rows as they were before the statement.
 */
function combined(deferred: Sql, statement: Sql): Sql | undefined {
  const { template, rows, deferral } = contentOf(statement)
  if (rows || deferral || !changesRows.test(template[0] ?? '')) return undefined
  const insert = insertOfOneRow(deferred)
  return insert && sql`with deferred as (${insert}) ${statement}`
}

const changesRows = /^(insert into|update|delete from) /

function insertOfOneRow(deferred: Sql): Sql | undefined {
  const { template, rows } = contentOf(deferred)
  if (!rows) return deferred
  const [row, ...others] = rows
  return row && others.length === 0 ? insertOf(template, [row]) : undefined
}

const insertOf = ([head = '', tail = '']: Template, rows: readonly (readonly Value[])[]) =>
  sql`${raw(head)} ${join(rows.map(tuple), ', ')} ${raw(tail)}`

async function runInWork(runner: TransactionRunner, work: Work<unknown>, statement: Sql): Promise<Row[]> {
  try {
    return await runInTransaction(runner, statement)
  } catch (error) {
    const translated = translateConstraint(error)
    if (translated instanceof StoreError) return abort(work, translated)
    throw error
  }
}

/**
 * A query is sent together with `begin`, which saves a round trip. A change waits for `begin`: if that fails, a change
 * would be committed at once, because it would be outside of a transaction.
 */
async function runInTransaction(runner: TransactionRunner, statement: Sql): Promise<Row[]> {
  if (!isQuery.test(contentOf(statement).template[0] ?? '')) await runner.begun
  try {
    return await runStatement(runner, statement)
  } finally {
    // Rows that were read outside of a transaction are not used. `begin` was answered before the statement.
    await runner.begun
  }
}

const isQuery = /^select /

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

/** Inserts up to `rowsPerInsert` rows with each statement, to save round trips. */
async function insertRows(
  { client, texts, replyTimeoutMs }: Runner,
  into: Template,
  rows: readonly (readonly Value[])[],
): Promise<Row[]> {
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    const { template, values } = contentOf(insertOf(into, rows.slice(at, at + rowsPerInsert)))
    const query = { ...texts(template), values: values as Value[] } // the driver does not change them
    await client.query(withReplyTimeout(query, replyTimeoutMs))
  }
  return []
}
