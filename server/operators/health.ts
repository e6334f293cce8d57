// Measures whether the server works as it should, and warns about problems.
import { contentKind } from '../limits/quota/content-limit.ts'
import { countPending } from '../store/delivery/deliveries.ts'
import { countWaiting } from '../store/delivery/queues.ts'
import { countUnsealed } from '../store/events/seal.ts'
import { latestMigration } from '../store/migrations.ts'
import { raw, sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'

export type MeasuredHealth = {
  /** Fields of the message `Health`. */
  fields: {
    storeBytes: bigint
    lastMigration: string
    contentBytes: bigint
    unsealedEvents: bigint
    waitingEvents: bigint
    pendingDeliveries: bigint
  }
  /** The time of the oldest event that is not in the audit log yet, in milliseconds since 1970. */
  oldestUnsealed: number | undefined
}

export function* measureHealth(): Work<MeasuredHealth> {
  const migration = yield* first(sql`select name from migrations order by name desc limit 1`)
  const unsealed = yield* first(countUnsealed)
  const oldest = yield* first(sql`select time from unsealed_events order by id limit 1`)
  // The tally of an organization counts the content of all its repos.
  const content = yield* first(sql`select coalesce(sum(t.subtree), 0) from tally t
    where t.kind = ${contentKind} and t.place in (select uid from groups where parent is null)`)
  return {
    fields: {
      storeBytes: countOf(yield* first(storeSize)),
      lastMigration: String(migration?.[0] ?? ''),
      contentBytes: countOf(content),
      unsealedEvents: countOf(unsealed),
      waitingEvents: BigInt(yield* countWaiting()),
      pendingDeliveries: BigInt(yield* countPending()),
    },
    oldestUnsealed: oldest?.[0] as number | undefined,
  }
}

const countOf = (row: readonly unknown[] | undefined) => BigInt(Number(row?.[0] ?? 0))

// In bytes. SQLite skips the comment. `forPostgres` makes its content part of the statement, and the `--` in it turns
// the rest of the line into a comment.
const storeSize = raw(
  'select /*pg pg_database_size(current_database()) -- */ page_count * page_size from pragma_page_count, pragma_page_size',
)

const maxUnsealedMs = 60_000
const manyEvents = 10_000n
const littleSpace = 2 ** 30

export function warningsOf({
  fields,
  oldestUnsealed,
  freeBytes,
  now,
}: MeasuredHealth & { freeBytes: number | undefined; now: number }): string[] {
  return [
    fields.lastMigration > latestMigration() &&
      'A newer version of the server has changed the database; update this copy.',
    oldestUnsealed !== undefined &&
      now - oldestUnsealed > maxUnsealedMs &&
      'Events are recorded, but do not reach the audit log and are not delivered; see the log of the server.',
    fields.waitingEvents > manyEvents &&
      'Many events wait for subscriptions: their sinks are slow or cannot be reached.',
    freeBytes !== undefined &&
      freeBytes < littleSpace &&
      'The data folder has less than 1 GiB of free space.',
  ].filter((warning) => warning !== false)
}
