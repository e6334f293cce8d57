// Writes and sign-ins that were refused, for the event log. They have no transaction, so they wait in memory and are
// inserted together. So that nobody can fill the log of an organization, at most 60 refusals per minute of one caller,
// and at most 600 of all callers together, get entries of their own. The other refusals of a caller in the minute
// become one more entry with their count.
import { BoundedMap } from '../bounded-map.ts'
import type { Store } from '../store/db.ts'
import type { EventWithOrigin, PreparedEvent } from '../store/events/record.ts'
import { among, sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { openEventQueue } from './event-queue.ts'

const windowMs = 60_000
const maxPerCaller = 60
const maxPerOrganization = 600
/** Callers and organizations whose refusals are counted. */
const maxCounted = 10_000
/** Refusals that wait. */
const maxWaiting = 2000
const rowsPerWrite = 200

export type RefusedWritesOptions = {
  store: Store
  now(): number
  onError(error: unknown): void
  onLost(count: number): void
  delayMs?: number
  retryMs?: number
}

export type RefusedWrites = {
  /** Never waits and never throws. */
  add(event: EventWithOrigin): void
  /** Inserts what waits. */
  flush(): Promise<void>
  stop(): Promise<void>
}

/** `count` refusals of one caller in one organization, of which `recorded` got entries of their own. */
type Counted = { since: number; count: number; recorded: number; last: EventWithOrigin }

export function openRefusedWrites(options: RefusedWritesOptions): RefusedWrites {
  const { store, now, onError, onLost, delayMs = 500, retryMs } = options
  const counts = new BoundedMap<string, Counted>(maxCounted, pushRest)
  /** By organization: how often an entry was requested in the minute that began at `since`. */
  const organizations = new BoundedMap<string, { since: number; requested: number }>(maxCounted)
  const queue = openEventQueue({
    ...{ store, onError, onLost, delayMs, retryMs },
    ...{ batchSize: rowsPerWrite, batchesPerTurn: maxWaiting, capacity: maxWaiting },
    select: inExistingLogs,
  })

  function push(event: EventWithOrigin): void {
    queue.add(() => event)
  }
  function add(event: EventWithOrigin): void {
    const root = event.group.slice(0, rootLength)
    const key = `${event.origin.actor} ${root}`
    const time = now()
    let counted = counts.get(key)
    if (!counted || time - counted.since >= windowMs) {
      if (counted) pushRest(counted)
      counted = { since: time, count: 0, recorded: 0, last: event }
      counts.set(key, counted)
    }
    counted.last = event
    counted.count++
    if (counted.recorded >= maxPerCaller || !admitTo(root, time)) return
    counted.recorded++
    push(event)
  }
  /** Counts a request for an entry. Returns whether the organization may get another entry in this minute. */
  function admitTo(root: string, time: number): boolean {
    let organization = organizations.get(root)
    if (!organization || time - organization.since >= windowMs) {
      organization = { since: time, requested: 0 }
      organizations.set(root, organization)
    }
    return ++organization.requested <= maxPerOrganization
  }
  /** The refusals that were not recorded one by one. */
  function pushRest({ count, recorded, last }: Counted): void {
    const others = count - recorded
    if (others > 0) push({ ...last, details: { ...last.details, count: others } })
  }
  function endWindows(): void {
    for (const [key, counted] of [...counts.entries()]) {
      if (now() - counted.since < windowMs) continue
      pushRest(counted)
      counts.delete(key)
    }
  }
  const windowTimer = setInterval(endWindows, windowMs).unref()
  return {
    add,
    flush: queue.flush,
    async stop() {
      clearInterval(windowTimer)
      for (const counted of counts.values()) pushRest(counted)
      await queue.stop()
    },
  }
}

const rootLength = 40

/** A caller may name any uid. Only organizations and people that exist have a log. */
function* inExistingLogs(events: readonly PreparedEvent[]): Work<readonly PreparedEvent[]> {
  const roots = among([...new Set(events.map(({ root }) => root))])
  const rows = yield sql`select uid from groups where uid in ${roots}
    union all select uid from identities where uid in ${roots}`
  const existing = new Set(rows.map(([uid]) => uid))
  return events.filter(({ root }) => existing.has(root))
}
