// PostgreSQL: pooled connections, named statements, and another try where it is safe to make one.
import pg from 'pg'
import type { Migration, Store } from './db.ts'
import { migrationsTable, pendingOf } from './db.ts'
import { isConflict, isLost, translate, translateConstraint } from './postgres-errors.ts'
import { readSnapshot } from './postgres-snapshot.ts'
import { forPostgres, prepare } from './postgres-text.ts'
import type { Row, Sql, Value } from './sql.ts'
import { join, raw, sql, tuple } from './sql.ts'
import { contentOf } from './statement/statement.ts'
import type { Template } from './statement/template.ts'
import { StoreError } from './store-error.ts'
import type { Work } from './work.ts'
import { breakOff } from './work.ts'

const mostAttempts = 5
const mostWaiting = 10_000
const answerMargin = 5_000
/** Of twenty values each they stay far from the 65,535 that a statement may have. */
const rowsInAStatement = 500
const aDay = 24 * 60 * 60 * 1000
const migrationLock = 7_386_214

export type PostgresOptions = {
  url: string
  connections?: number
  /** How long one statement may take, in milliseconds. */
  statementTimeout?: number
  /** How long to wait for a connection, in milliseconds. */
  connectionTimeout?: number
  onIdleError?: (error: unknown) => void
}

export function openPostgres(options: PostgresOptions): Store {
  const { statementTimeout = 60_000 } = options
  const pool = openPool(options, statementTimeout)
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  /** A store that closes takes no more, and ends with what it was given. */
  function tracked<T>(run: () => Promise<T>): Promise<T> {
    if (closing) return Promise.reject(new StoreError('unavailable'))
    const promise = run()
    const forget = () => running.delete(promise)
    running.add(promise)
    promise.then(forget, forget)
    return promise
  }

  async function connected<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (pool.waitingCount >= mostWaiting) throw new StoreError('unavailable')
    const client = await pool.connect()
    let broken = false
    const onError = () => {
      broken = true
    }
    client.on('error', onError)
    try {
      return await use(client)
    } catch (error) {
      // Whatever was begun is undone; a connection that cannot do so is not used again.
      if (isLost(error)) onError()
      else await client.query('rollback').catch(onError)
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  function transaction<T>(begin: string, work: () => Work<T>, deadline: number): Promise<T> {
    const attempt = (state: Attempt) =>
      connected(async (client) => {
        await client.query(withDeadline(begin, deadline, statementTimeout))
        const value = await drive(client, work(), deadline)
        state.committing = true
        await client.query('commit')
        return value
      })
    return tracked(() => retrying(deadline, attempt))
  }

  return {
    engine: 'postgres',
    query: (statement) =>
      tracked(() =>
        retrying(Number.POSITIVE_INFINITY, () => connected((client) => runStatement(client, statement))),
      ),
    read: (work) =>
      transaction('begin isolation level repeatable read read only', work, Number.POSITIVE_INFINITY),
    write: (work, deadline = Number.POSITIVE_INFINITY) => transaction('begin', work, deadline),
    migrate: (migrations) => tracked(() => connected((client) => migrateWith(client, migrations))),
    async *snapshot() {
      const client = await pool.connect()
      try {
        yield* readSnapshot(client)
      } finally {
        // What was begun and not read to its end goes with the connection.
        client.release(true)
      }
    },
    close() {
      closing ??= Promise.allSettled(running).then(() => pool.end())
      return closing
    },
  }
}

function openPool(
  { url, connections = 10, connectionTimeout = 5_000, onIdleError }: PostgresOptions,
  statementTimeout: number,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectionTimeout,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeout,
    // The server would have answered by then, so it is gone without a word.
    query_timeout: statementTimeout + answerMargin,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'stemma',
    options: planning.map((setting) => `-c ${setting}`).join(' '),
    types: { getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format) },
  })
  // A connection that breaks while idle is replaced at the next use.
  pool.on('error', (error) => onIdleError?.(error))
  return pool
}

/**
 * Our statements are written for an index each. The planner takes it, in a table of any size and whatever it
 * knows of it, if it neither guesses from the values at hand nor gathers rows to sort them.
 */
const planning = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'jit=off',
]

const int8 = 20
const numeric = 1700
const parsers: Record<number, (text: string) => number> = { [int8]: Number, [numeric]: Number }

/** Both in one round trip: no statement outlives the caller's patience, waiting for a lock included. */
function withDeadline(begin: string, deadline: number, statementTimeout: number): string {
  const left = Math.max(1, Math.ceil(deadline - Date.now()))
  return left < statementTimeout ? `${begin}; set local statement_timeout = ${left}` : begin
}

/** A change of a large table takes as long as it takes. */
async function migrateWith(client: pg.PoolClient, migrations: readonly Migration[]): Promise<string[]> {
  const run = (text: string) => {
    const query = { text, query_timeout: aDay } // the driver knows this setting, its types do not
    return client.query<{ name: string }>(query)
  }
  await run('begin; set local statement_timeout = 0')
  // Other copies may start at the same time; the lock ends with the transaction.
  await run(`select pg_advisory_xact_lock(${migrationLock})`)
  await run(migrationsTable)
  const { rows } = await run('select name from migrations')
  const pending = pendingOf(
    migrations,
    rows.map(({ name }) => name),
  )
  for (const { name, script } of pending) {
    await run(forPostgres(script))
    await client.query('insert into migrations (name, apply_time) values ($1, $2)', [name, Date.now()])
  }
  await run('commit')
  return pending.map(({ name }) => name)
}

/** `committing` says that a lost connection leaves the outcome unknown, so that a second try is not safe. */
type Attempt = { committing: boolean }

async function retrying<T>(deadline: number, attempt: (state: Attempt) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    if (Date.now() > deadline) throw new StoreError('deadline')
    const state = { committing: false }
    try {
      return await attempt(state)
    } catch (error) {
      if (tries >= mostAttempts || !isWorthAnotherTry(error, state, tries)) throw translate(error)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** tries))
    }
  }
}

function isWorthAnotherTry(error: unknown, { committing }: Attempt, tries: number): boolean {
  if (isConflict(error)) return true
  // Somebody else may have made the row since the work looked for it; the second time it is found.
  if (error instanceof StoreError) return error.kind === 'unique' && tries === 1
  return isLost(error) && !committing
}

async function drive<T>(client: pg.PoolClient, work: Work<T>, deadline: number): Promise<T> {
  let step = work.next()
  while (!step.done) {
    if (Date.now() > deadline) throw new StoreError('deadline')
    step = work.next(await answer(client, work, step.value))
  }
  return step.value
}

async function answer(client: pg.PoolClient, work: Work<unknown>, statement: Sql): Promise<Row[]> {
  try {
    return await runStatement(client, statement)
  } catch (error) {
    const told = translateConstraint(error)
    if (told instanceof StoreError) return breakOff(work, told)
    throw error
  }
}

async function runStatement(client: pg.PoolClient, statement: Sql): Promise<Row[]> {
  const { template, values, rows } = contentOf(statement)
  if (rows) return insertAll(client, template, rows)
  const result = await client.query<Value[]>({
    ...prepare(template),
    values: values as Value[],
    rowMode: 'array',
  })
  return result.rows
}

/** Many with a statement, so that they share its way there and back. */
async function insertAll(
  client: pg.PoolClient,
  [head, tail]: Template,
  rows: readonly (readonly Value[])[],
): Promise<Row[]> {
  for (let at = 0; at < rows.length; at += rowsInAStatement) {
    const some = rows.slice(at, at + rowsInAStatement)
    const { template, values } = contentOf(
      sql`${raw(head ?? '')} ${join(some.map(tuple), ', ')} ${raw(tail ?? '')}`,
    )
    await client.query({ ...prepare(template), values: values as Value[] })
  }
  return []
}
