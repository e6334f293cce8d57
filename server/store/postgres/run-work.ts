// Runs a statement or a whole work on a connection.
import type pg from 'pg'
import type { Clock } from '../clock.ts'
import type { Row, Sql, Value } from '../sql.ts'
import { join, raw, sql, tuple } from '../sql.ts'
import { contentOf } from '../statement/statement.ts'
import type { Template } from '../statement/template.ts'
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import { abort } from '../work.ts'
import { translateConstraint } from './errors.ts'
import type { StatementTexts } from './statement-text.ts'

/** PostgreSQL allows 65,535 values in a statement, and a row has at most about twenty. */
const rowsPerInsert = 500

export type Runner = { client: pg.PoolClient; texts: StatementTexts }

export async function runWork<T>(
  runner: Runner,
  work: Work<T>,
  now: Clock['now'],
  deadline: number,
): Promise<T> {
  let step = work.next()
  while (!step.done) {
    if (now() > deadline) throw new StoreError('deadline')
    step = work.next(await runInWork(runner, work, step.value))
  }
  return step.value
}

async function runInWork(runner: Runner, work: Work<unknown>, statement: Sql): Promise<Row[]> {
  try {
    return await runStatement(runner, statement)
  } catch (error) {
    const translated = translateConstraint(error)
    if (translated instanceof StoreError) return abort(work, translated)
    throw error
  }
}

export async function runStatement(runner: Runner, statement: Sql): Promise<Row[]> {
  const { template, values, rows } = contentOf(statement)
  if (rows) return insertRows(runner, template, rows)
  const result = await runner.client.query<Value[]>({
    ...runner.texts(template),
    values: values as Value[], // the driver does not change them
    rowMode: 'array',
  })
  return result.rows
}

/** Inserts many rows with one statement, so that they share a round trip. */
async function insertRows(
  { client, texts }: Runner,
  [head, tail]: Template,
  rows: readonly (readonly Value[])[],
): Promise<Row[]> {
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    const tuples = rows.slice(at, at + rowsPerInsert).map(tuple)
    const statement = sql`${raw(head ?? '')} ${join(tuples, ', ')} ${raw(tail ?? '')}`
    const { template, values } = contentOf(statement)
    await client.query({ ...texts(template), values: values as Value[] }) // the driver does not change them
  }
  return []
}
