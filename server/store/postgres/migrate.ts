// Applies migrations to PostgreSQL.
import type pg from 'pg'
import type { Clock } from '../clock.ts'
import type { Migration } from '../db.ts'
import { migrationsTable, pendingOf } from '../db.ts'
import { longReplyTimeoutMs, withReplyTimeout } from './pool.ts'
import { forPostgres } from './statement-text.ts'

/** The number of the PostgreSQL advisory lock that lets one process migrate at a time. */
const migrationLock = 7_386_214

export async function migrate(
  client: pg.PoolClient,
  migrations: readonly Migration[],
  now: Clock['now'],
): Promise<string[]> {
  const run = (text: string) => client.query<{ name: string }>(withReplyTimeout({ text }, longReplyTimeoutMs))
  await run('begin; set local statement_timeout = 0')
  await run(`select pg_advisory_xact_lock(${migrationLock})`)
  await run(migrationsTable)
  const { rows } = await run('select name from migrations')
  const applied = rows.map(({ name }) => name)
  const pending = pendingOf(migrations, applied)
  for (const { name, script } of pending) {
    await run(forPostgres(script))
    await client.query('insert into migrations (name, apply_time) values ($1, $2)', [name, now()])
  }
  await run('commit')
  return pending.map(({ name }) => name)
}
