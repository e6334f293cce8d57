// PostgreSQL: pooled connections, named statements, and retries where they are safe.
import { serverParty } from '../../fair-queueing/parties.ts'
import type { Party } from '../../fair-queueing/waiting-calls.ts'
import type { Clock } from '../clock.ts'
import { systemClock } from '../clock.ts'
import type { Store } from '../db.ts'
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import { dump } from './dump.ts'
import { migrate } from './migrate.ts'
import type { Pool } from './pool.ts'
import { openPool, sendTogether, withReplyTimeout } from './pool.ts'
import type { AttemptState } from './retry.ts'
import { retry } from './retry.ts'
import { runStatement, runWork } from './run-work.ts'
import { openStatementTexts } from './statement-text.ts'

export type PostgresOptions = {
  url: string
  /** The maximum number of connections. */
  connections?: number
  /** How long one statement of a read may take. */
  readTimeoutMs?: number
  /** How long one statement of a write may take, if the deadline of the write is not sooner. */
  writeTimeoutMs?: number
  /** How much longer than the timeout of a statement the driver waits for the server to report that timeout. */
  replyMarginMs?: number
  /** How long to wait for a connection. */
  connectionTimeoutMs?: number
  /** Called when a connection breaks while no call uses it. */
  onIdleError?: (error: unknown) => void
  /** The party for which the running code works. Parties take turns when they wait for a connection. */
  currentParty?: (() => Party) | undefined
  clock?: Clock
}

const never = Number.POSITIVE_INFINITY
/** A machine with a load of 14 needed more than 5 seconds to open a connection. */
const defaultConnectionTimeoutMs = 20_000

export function openPostgres(options: PostgresOptions): Store {
  const { url, connections = 10, connectionTimeoutMs = defaultConnectionTimeoutMs } = options
  const { readTimeoutMs = 60_000, writeTimeoutMs = 60_000, replyMarginMs = 5_000 } = options
  const { onIdleError, currentParty = () => serverParty, clock = systemClock } = options
  const pool = openPool({
    ...{ url, connections, connectionTimeoutMs, onIdleError, currentParty },
    ...{ statementTimeoutMs: readTimeoutMs, replyTimeoutMs: readTimeoutMs + replyMarginMs },
  })
  const texts = openStatementTexts()
  const { track, drain } = openTracker()

  function transaction<T>(
    begin: string,
    work: () => Work<T>,
    { timeoutMs, deadline, isRead }: { timeoutMs: number; deadline: number; isRead: boolean },
  ): Promise<T> {
    const attempt = (state: AttemptState) =>
      pool.use(async (client) => {
        const remainingMs = Math.max(1, Math.ceil(deadline - clock.now()))
        const replyTimeoutMs = timeoutMs + replyMarginMs
        const run = (text: string) => client.query(withReplyTimeout({ text }, replyTimeoutMs))
        const value = await sendTogether(client, () => {
          const begun = run(withTimeout(begin, Math.min(timeoutMs, remainingMs), readTimeoutMs))
          begun.catch(() => {}) // runWork awaits it, unless a statement fails first
          return runWork({ client, texts, replyTimeoutMs, begun }, work(), clock.now, deadline)
        })
        state.isCommitting = true
        const committed = run('commit')
        // Nothing depends on the end of a read. PostgreSQL ends it before it runs the next statement of the connection.
        if (isRead) committed.catch(() => {})
        else await committed
        return value
      })
    return track(() => retry(clock, deadline, attempt))
  }

  return {
    engine: 'postgres',
    query: (statement) =>
      track(() =>
        retry(clock, never, () =>
          pool.use((client) =>
            runStatement({ client, texts, replyTimeoutMs: readTimeoutMs + replyMarginMs }, statement),
          ),
        ),
      ),
    read: (work) =>
      transaction('begin isolation level repeatable read read only', work, {
        ...{ timeoutMs: readTimeoutMs, deadline: never, isRead: true },
      }),
    // Each statement sees what was committed before it began. A work that locks a row before it counts relies on this.
    write: (work, deadline = never) =>
      transaction('begin isolation level read committed', work, {
        ...{ timeoutMs: writeTimeoutMs, deadline, isRead: false },
      }),
    migrate: (migrations) => track(() => pool.use((client) => migrate(client, migrations, clock.now))),
    snapshot: (tables) => dumpPool(pool, tables),
    close: () => drain(() => pool.end()),
  }
}

/** Tracks running calls. A store that is being closed rejects new calls and waits until the running ones are done. */
function openTracker() {
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  return {
    track<T>(run: () => Promise<T>): Promise<T> {
      if (closing) return Promise.reject(new StoreError('unavailable'))
      const promise = run()
      const remove = () => running.delete(promise)
      running.add(promise)
      promise.then(remove, remove)
      return promise
    },
    drain(end: () => Promise<void>): Promise<void> {
      closing ??= Promise.allSettled(running).then(end)
      return closing
    },
  }
}

async function* dumpPool(pool: Pool, tables: readonly string[]) {
  const client = await pool.connect()
  // If the connection is lost between two queries, the next one fails. Without a listener, the process would end.
  client.on('error', () => {})
  try {
    yield* dump(client, tables)
  } finally {
    // Closes the connection instead of returning it to the pool: if the caller stopped early, its transaction is open.
    client.release(true)
  }
}

/**
 * Adds the statement timeout of the transaction to `begin`, in the same round trip, unless it is the default of the
 * connection. It also limits how long a statement waits for locks.
 */
const withTimeout = (begin: string, timeoutMs: number, defaultTimeoutMs: number) =>
  timeoutMs === defaultTimeoutMs ? begin : `${begin}; set local statement_timeout = ${timeoutMs}`
