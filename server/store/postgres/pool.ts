// The pool of connections, and how a connection is used and returned.
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type pg from 'pg'
import type { Party } from '../../fair-queueing/waiting-calls.ts'
import { isConnectionLost } from './errors.ts'
import { openSlots } from './slots.ts'

export type PoolOptions = {
  url: string
  connections: number
  connectionTimeoutMs: number
  statementTimeoutMs: number
  /** How long the driver waits for a result, unless a query has its own timeout (`withReplyTimeout`). */
  replyTimeoutMs: number
  onIdleError: ((error: unknown) => void) | undefined
  /** The party for which the running code works. */
  currentParty(): Party
}

export type Pool = {
  /** If the task fails, its transaction is rolled back; a connection that cannot roll back is closed. */
  use<T>(task: (client: pg.PoolClient) => Promise<T>): Promise<T>
  /** A connection for a long time. The caller must release it. */
  connect(): Promise<pg.PoolClient>
  end(): Promise<void>
}

export function openPool(options: PoolOptions): Pool {
  const { connections: count, connectionTimeoutMs: timeoutMs, currentParty } = options
  const pool = openDriverPool(options)
  const slots = openSlots({ count, timeoutMs, currentParty, clock: () => performance.now() })
  return {
    use: (task) => slots.run(() => withConnection(pool, task)),
    connect: () => pool.connect(),
    end: () => pool.end(),
  }
}

function openDriverPool(options: PoolOptions): pg.Pool {
  const pg = loadDriver()
  const pool = new pg.Pool({
    ...connectionOf(options.url),
    max: options.connections,
    pipeline: true, // `postgres.ts` sends statements before earlier ones are answered
    connectionTimeoutMillis: options.connectionTimeoutMs,
    idleTimeoutMillis: 30_000,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.replyTimeoutMs,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'stemma',
    types: { getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format) },
  })
  // A connection that breaks while idle is replaced at the next use.
  pool.on('error', (error) => options.onIdleError?.(error))
  return pool
}

/** The driver would use `options` of the URL in place of ours, so both are put together. */
function connectionOf(url: string): pg.PoolConfig {
  const parsed = new URL(url)
  const given = parsed.searchParams.getAll('options')
  parsed.searchParams.delete('options')
  return {
    connectionString: given.length > 0 ? parsed.href : url,
    options: [...given, ...plannerSettings.map((setting) => `-c ${setting}`)].join(' '),
  }
}

/** A query with its own timeout for the result, an option that the types of the driver lack. */
export const withReplyTimeout = <Q extends object>(query: Q, replyTimeoutMs: number): Q => ({
  ...query,
  query_timeout: replyTimeoutMs,
})

/** For statements that may take long because a table is large. */
export const longReplyTimeoutMs = 24 * 60 * 60 * 1000

/** Only servers on PostgreSQL load the driver: it is 35 modules, which took 12 ms of every start. */
const loadDriver = () => createRequire(import.meta.url)('pg') as typeof pg // the package is CommonJS

/**
 * Every statement is written for one index. With these settings the planner chooses that index in a table of any size,
 * with or without statistics: it makes no plan for particular values, and no bitmap scan, which loses the order.
 */
const plannerSettings = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'jit=off',
]

// Object ids (OIDs) of PostgreSQL types.
const int8 = 20
const numeric = 1700
const parsers: Record<number, (text: string) => number> = { [int8]: Number, [numeric]: Number }

async function withConnection<T>(pool: pg.Pool, task: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let isBroken = false
  const onError = () => {
    isBroken = true
  }
  client.on('error', onError)
  try {
    return await task(client)
  } catch (error) {
    if (isConnectionLost(error)) onError()
    else await client.query('rollback').catch(onError)
    throw error
  } finally {
    client.off('error', onError)
    client.release(isBroken)
  }
}

/** Sends what `send` writes before it first waits with one system call, so that PostgreSQL wakes up only once for it. */
export function sendTogether<T>(client: pg.PoolClient, send: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection // missing in the types
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}
