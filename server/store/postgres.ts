// PostgreSQL: pooled connections, named statements, and another try where it is safe to make one.
import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Store } from './db.ts'
import { migrationsTable, pendingOf, StoreError } from './db.ts'
import type { Row, Sql, Value } from './sql.ts'
import type { Work } from './work.ts'

const mostAttempts = 5
const mostNamedStatements = 500
const migrationLock = 7_386_214

export type PostgresOptions = { url: string; connections?: number; onIdleError?: (error: unknown) => void }

export function openPostgres({ url, connections = 10, onIdleError }: PostgresOptions): Store {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'stemma',
    types: { getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format) },
  })
  // A connection that breaks while idle is replaced at the next use.
  pool.on('error', (error) => onIdleError?.(error))

  async function connected<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
    })
    let broken = false
    const onError = () => {
      broken = true
    }
    client.on('error', onError)
    try {
      return await use(client)
    } catch (error) {
      broken ||= isLost(error)
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  function transaction<T>(begin: string, work: () => Work<T>, deadline: number): Promise<T> {
    return retrying(deadline, (state) =>
      connected(async (client) => {
        await client.query(begin)
        try {
          const value = await drive(client, work())
          state.committing = true
          await client.query('commit')
          return value
        } catch (error) {
          await client.query('rollback').catch(() => {})
          throw error
        }
      }),
    )
  }

  return {
    engine: 'postgres',
    query: (statement) =>
      retrying(Number.POSITIVE_INFINITY, () => connected((client) => runStatement(client, statement))),
    read: (work) =>
      transaction('begin isolation level repeatable read read only', work, Number.POSITIVE_INFINITY),
    write: (work, deadline = Number.POSITIVE_INFINITY) => transaction('begin', work, deadline),
    migrate: (migrations) =>
      connected(async (client) => {
        await client.query('begin')
        try {
          // Many copies may start together; the lock goes with the transaction.
          await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
          await client.query(migrationsTable)
          const { rows } = await client.query<{ name: string }>('select name from migrations')
          const pending = pendingOf(
            migrations,
            rows.map(({ name }) => name),
          )
          for (const { name, script } of pending) {
            await client.query(forPostgres(script))
            await client.query('insert into migrations (name, apply_time) values ($1, $2)', [
              name,
              Date.now(),
            ])
          }
          await client.query('commit')
          return pending.map(({ name }) => name)
        } catch (error) {
          await client.query('rollback').catch(() => {})
          throw error
        }
      }),
    close: () => pool.end(),
  }
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
      const again = isConflict(error) || (isLost(error) && !state.committing)
      if (!again || tries >= mostAttempts) throw translate(error)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** tries))
    }
  }
}

async function drive<T>(client: pg.PoolClient, work: Work<T>): Promise<T> {
  let step = work.next()
  while (!step.done) {
    let rows: Row[]
    try {
      rows = await runStatement(client, step.value)
    } catch (error) {
      step = work.throw(translateConstraint(error))
      continue
    }
    step = work.next(rows)
  }
  return step.value
}

type Prepared = { text: string; name?: string }

const prepared = new Map<string, Prepared>()

async function runStatement(client: pg.PoolClient, { pieces, values }: Sql): Promise<Row[]> {
  const { rows } = await client.query<Value[]>({
    ...prepare(pieces),
    values: values as Value[],
    rowMode: 'array',
  })
  return rows
}

/** Names are kept by every connection for good, so only the first texts of a program's life get one. */
function prepare(pieces: readonly string[]): Prepared {
  const key = pieces.join('?')
  const known = prepared.get(key)
  if (known) return known
  const text = forPostgres(pieces.reduce((before, piece, at) => `${before}$${at}${piece}`))
  if (prepared.size >= mostNamedStatements) return { text }
  const statement = { text, name: createHash('sha256').update(text).digest('base64url').slice(0, 20) }
  prepared.set(key, statement)
  return statement
}

const forPostgres = (text: string) => text.replaceAll(/\/\*pg (.*?)\*\//g, '$1')

const int8 = 20
const numeric = 1700
const parsers: Record<number, (text: string) => number> = { [int8]: Number, [numeric]: Number }

type PostgresError = Error & { code?: unknown }

/** Errors of the driver carry a text; others that pass through here may have a `code` of another sort. */
function codeOf(error: unknown): string {
  const { code } = error as PostgresError
  return typeof code === 'string' ? code : ''
}
const isConflict = (error: unknown) => ['40001', '40P01'].includes(codeOf(error))

/** Class 08 and 57P are the server's words for it, the rest the operating system's and the driver's. */
function isLost(error: unknown): boolean {
  const code = codeOf(error)
  return (
    /^(08...|57P0[123])$/.test(code) ||
    ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code) ||
    /^Connection terminated|^timeout exceeded when trying to connect|^Client has encountered a connection error/.test(
      (error as Error).message,
    )
  )
}

function translateConstraint(error: unknown): unknown {
  if (codeOf(error) === '23503') return new StoreError('foreign-key', error)
  if (codeOf(error) === '23505') return new StoreError('unique', error)
  return error
}

function translate(error: unknown): unknown {
  if (error instanceof StoreError) return error
  if (codeOf(error) === '57014') return new StoreError('deadline', error)
  // 53: out of connections, memory or disk.
  if (isLost(error) || isConflict(error) || codeOf(error).startsWith('53'))
    return new StoreError('unavailable', error)
  return translateConstraint(error)
}
