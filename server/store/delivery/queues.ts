// The delivery queue of each subscription: when it is due, and which copy of the server works on it.
import type { Sql } from '../sql.ts'
import { among, raw, sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { first } from '../work.ts'
import { hasManyPending } from './deliveries.ts'

export type NewQueue = { subscription: string; parent: string; root: string; isActive: boolean }

/** Opens the queue of a new subscription. It gets the events that are sealed from now on. */
export function* openQueue({ subscription, parent, root, isActive }: NewQueue, now: number): Work<void> {
  yield sql`insert into delivery_queues (subscription, parent, root, is_active, position, due_time)
    values (${subscription}, ${parent}, ${root}, ${isActive ? 1 : 0},
      coalesce((select sequence from event_chains where root = ${root}), 0), ${isActive ? now : null})`
}

/** Stops the queue of a subscription. Its pending deliveries and its position are kept. */
export function* stopQueue(subscription: string): Work<void> {
  yield sql`update delivery_queues set is_active = 0, due_time = null where subscription = ${subscription}`
}

/**
 * Starts a queue again. Events before `oldest` are left out. Earlier failures of the sink no longer
 * count, but the sink still gets no request before the time that it has asked for. A running turn
 * loses its lease, so that it does not store earlier failures again.
 */
export function* restartQueue(subscription: string, now: number, oldest: number): Work<void> {
  const row = yield* first(
    sql`select root, position from delivery_queues where subscription = ${subscription} /*pg for update */`,
  )
  if (!row) return
  const [root, position] = row as [string, number]
  const expired = yield* lastSequenceBefore(root, oldest)
  yield sql`update delivery_queues set is_active = 1, ${makeDueOnRequest(now)}, failures = 0, refusals = 0, failing_since = null,
    lease = null, lease_until = 0, position = ${Math.max(position, expired)} where subscription = ${subscription}`
}

/**
 * An event may have a later time than one that was sealed after it: some events wait in memory for up to two minutes or
 * are recorded by a long transaction, and the clocks of copies differ. Larger differences are not expected, unless a
 * clock was set back.
 */
const maxDisorderMs = 5 * 60_000

/**
 * Returns a sequence after which all events of the organization since `time` follow, perhaps with
 * some earlier events among them. If there are no events since `time`, this is the last sequence.
 * The range of times and the index `events_by_time` limit how many rows are read. `+ 0` prevents a
 * search for the minimum in the order of the primary key, which would read the log from its start.
 */
function* lastSequenceBefore(root: string, time: number): Work<number> {
  const row = yield* first(sql`select coalesce(
    (select min(sequence + 0) - 1 from events where root = ${root} and time >= ${time} and time <= ${maxDisorderMs} +
      (select time from events where root = ${root} and time >= ${time} order by time limit 1)),
    (select sequence from event_chains where root = ${root}), 0)`)
  return row?.[0] as number // coalesce returns one row with a number
}

/**
 * The sink has changed: its past does not count, and the handshake is attempted again. A running turn loses its lease, so
 * that the results of the old sink are not stored for the new one.
 */
export function* resetSink(subscription: string, now: number): Work<void> {
  yield sql`update delivery_queues set is_proven = 0, failures = 0, refusals = 0, failing_since = null, wake_after = 0,
    rest_until = 0, wants_handshake = 1, lease = null, lease_until = 0,
    due_time = case when is_active = 1 then cast(${now} as bigint) end where subscription = ${subscription}`
}

/**
 * Makes a queue due because somebody asked for a delivery. It does not wait for the end of the pause of a failing sink,
 * which may work again, but for the time that the sink has asked for.
 */
export function* makeQueueDue(subscription: string, now: number): Work<void> {
  yield sql`update delivery_queues set ${makeDueOnRequest(now)}
    where subscription = ${subscription} and is_active = 1`
}

const maxWokenQueues = 1000

/**
 * The queue waits for events, or for the time of another attempt. Also true of some queues that are
 * due already; `isNotDue` excludes them. The SQL is the same as in the partial index
 * `delivery_queues_idle`, so that the engines use the index.
 */
const isIdle = raw('is_active = 1 and (due_time is null or due_time > wake_after)')

const isNotDue = (now: number): Sql => sql`(due_time is null or due_time > ${now})`

/** Sets `wake_after` to the same time, so that the queue is no longer idle. */
const makeDue = (now: number): Sql => makeDueAt(laterOf(raw('wake_after'), now))

const makeDueOnRequest = (now: number): Sql => makeDueAt(laterOf(raw('rest_until'), now))

const makeDueAt = (time: Sql): Sql => sql`due_time = ${time}, wake_after = ${time}`

const laterOf = (column: Sql, now: number): Sql =>
  sql`case when ${column} > ${now} then ${column} else cast(${now} as bigint) end`

/**
 * Makes idle queues of subscriptions in these groups due, because events of the groups were sealed. Bounded, so that a
 * group with very many subscriptions does not make the transaction long; `wakeOverlooked` wakes the others.
 */
function* wakeQueues(groups: readonly string[], now: number): Work<void> {
  if (groups.length === 0) return
  yield sql`update delivery_queues set ${makeDue(now)} where subscription in (
    select subscription from delivery_queues where parent in ${among(groups)} and ${isIdle} and ${isNotDue(now)}
    order by parent, subscription limit ${maxWokenQueues} /*pg for update skip locked */)`
}

/** Whether subscriptions of an organization wait for events. Takes one look-up in the index of idle queues. */
export function* hasIdleQueues(root: string): Work<boolean> {
  const rows = yield sql`select 1 from delivery_queues where parent >= ${root} and parent < ${`${root}0`}
    and ${isIdle} limit 1`
  return rows.length > 0
}

const maxGroupsPerStatement = 512

/** Wakes the queues of the subscriptions that can get these events: those in the groups of the events, and above. */
export function* wakeQueuesOf(events: readonly { group: string }[], now: number): Work<void> {
  const groups = [...new Set(events.map(({ group }) => group))]
  const withAncestors = [...new Set(groups.flatMap(groupAndAncestors))]
  for (let at = 0; at < withAncestors.length; at += maxGroupsPerStatement)
    yield* wakeQueues(withAncestors.slice(at, at + maxGroupsPerStatement), now)
}

function groupAndAncestors(group: string): string[] {
  const groups = [group]
  for (let end = group.lastIndexOf('/'); end > 0; end = group.lastIndexOf('/', end - 1))
    groups.push(group.slice(0, end))
  return groups
}

/** Wakes idle queues that are behind the log of their organization. Returns whether there may be more. */
export function* wakeOverlooked(now: number): Work<boolean> {
  const rows = yield sql`update delivery_queues set ${makeDue(now)} where subscription in (
    select subscription from delivery_queues q join event_chains c on c.root = q.root
    where ${isIdle} and ${isNotDue(now)} and c.sequence > q.position
    order by parent, subscription limit ${maxWokenQueues} /*pg for update of q skip locked */) returning 1`
  return rows.length === maxWokenQueues
}

export type DueQueue = { subscription: string; root: string }

/** Due and in nobody's lease. */
const isFree = (isProven: boolean, now: number): Sql =>
  sql`is_proven = ${isProven ? 1 : 0} and due_time <= ${now} and lease_until <= ${now}`

/** Queues that are due and that nobody works on, those that wait longest first. */
export function* findDueQueues(isProven: boolean, now: number, limit: number): Work<DueQueue[]> {
  const rows = yield sql`select subscription, root from delivery_queues
    where ${isFree(isProven, now)} order by due_time, subscription limit ${limit}`
  return rows.map(([subscription, root]) => ({ subscription, root }) as DueQueue)
}

export type DueByOrganization = {
  /** At most one of each organization, in the order of the organizations. */
  queues: DueQueue[]
  /** The last organization that was looked at; empty if it was the last one of all. */
  end: string
}

/**
 * The queues that wait longest in each of the organizations after `after`. Looks at up to `limit`
 * organizations in which a queue has a `due_time`. Each takes two look-ups in the index
 * `delivery_queues_by_root`, however many queues it has.
 */
export function* findDueByOrganization(
  isProven: boolean,
  now: number,
  { after, limit }: { after: string; limit: number },
): Work<DueByOrganization> {
  const next = (root: Sql) => sql`(select root from delivery_queues
    where is_proven = ${isProven ? 1 : 0} and due_time is not null and root > ${root} order by root limit 1)`
  const rows = yield sql`with recursive organizations (root, number) as (
      select ${next(sql`${after}`)}, 1
      union all select ${next(raw('o.root'))}, o.number + 1 from organizations o
        where o.root is not null and o.number < ${limit}
    ) select root, (select subscription from delivery_queues q where q.root = o.root and ${isFree(isProven, now)}
      order by due_time, subscription limit 1) from organizations o where root is not null`
  const queues = rows.flatMap(([root, subscription]) =>
    subscription === null ? [] : [{ subscription, root } as DueQueue],
  )
  return { queues, end: rows.length < limit ? '' : (rows.at(-1)?.[0] as string) }
}

export type Lease = { token: string; until: number }

/** Takes the lease of queues. Returns those that no other copy has taken. */
export function* leaseQueues(
  subscriptions: readonly string[],
  { token, until }: Lease,
  now: number,
): Work<string[]> {
  const rows =
    yield sql`update delivery_queues set lease = ${token}, lease_until = ${until} where subscription in (
    select subscription from delivery_queues where subscription in ${among(subscriptions)}
    and due_time <= ${now} and lease_until <= ${now} order by subscription /*pg for update skip locked */)
    returning subscription`
  return rows.map(([subscription]) => subscription as string)
}

export type LeasedQueue = {
  /** When the queue became due. */
  dueTime: number
  root: string
  parent: string
  isProven: boolean
  failures: number
  refusals: number
  failingSince: number | null
  wantsHandshake: boolean
  /** How many requests in a minute the sink allows; null if it set no limit. */
  allowedRate: number | null
  /** The subscription as protobuf bytes. */
  proto: Uint8Array
  /** Encrypted; empty if there is none. */
  secret: string
  previousSecret: string
  previousSecretUntil: number
}

/** Undefined if the lease was lost, or the subscription was deleted or is not active. */
export function* readLeasedQueue(subscription: string, token: string): Work<LeasedQueue | undefined> {
  const row =
    yield* first(sql`select q.due_time, q.root, q.parent, q.is_proven, q.failures, q.refusals, q.failing_since,
      q.wants_handshake, q.allowed_rate, s.proto, s.secret, s.previous_secret, s.previous_secret_until
    from delivery_queues q join subscriptions s on s.uid = q.subscription
    where q.subscription = ${subscription} and q.lease = ${token} and q.is_active = 1`)
  if (!row) return undefined
  const [dueTime, root, parent, isProven, failures, refusals, failingSince, wantsHandshake, ...rest] = row
  const [allowedRate, proto, secret, ...previous] = rest
  const [previousSecret, previousSecretUntil] = previous
  return {
    ...{ root, parent, failures, refusals, failingSince, proto, secret, previousSecret, previousSecretUntil },
    ...{ dueTime, allowedRate, isProven: isProven === 1, wantsHandshake: wantsHandshake === 1 },
  } as LeasedQueue // the columns have these types
}

/**
 * `isProven` is set by a successful request and cleared when the sink fails (server/delivery/health.ts). `failures` is how
 * often the sink has failed since the last success, and `refusals` how many events it has refused.
 */
export type Health = { isProven: boolean; failures: number; refusals: number; failingSince: number | null }

export type Pause = { wakeAfter: number; restUntil: number }

/**
 * Ends the work on a queue. It is due again when its next delivery is due or when there is a new
 * event, but not before `wakeAfter`. A queue that can take no events, because too many deliveries
 * wait, is due when the first of them is. `restUntil` is the part of the pause that the sink has
 * asked for. `dueTime` is that of the leased queue: if the present one differs, somebody has asked
 * for a delivery meanwhile, and the queue waits only until `restUntil`. Returns false, and changes
 * nothing, if the lease was lost.
 */
export function* releaseQueue(
  subscription: string,
  token: string,
  { isProven, failures, refusals, failingSince, dueTime, ...pause }: Health & Pause & { dueTime: number },
  now: number,
): Work<boolean> {
  const row =
    yield* first(sql`select due_time, is_active, position, replay_position, root from delivery_queues
    where subscription = ${subscription} and lease = ${token} /*pg for update */`)
  if (!row) return false
  const [currentDueTime, isActive, position, replayPosition, root] = row as [
    ...[number | null, number, number, number | null, string],
  ]
  const wakeAfter = currentDueTime === dueTime ? pause.wakeAfter : pause.restUntil
  const head = yield* first(sql`select sequence from event_chains where root = ${root}`)
  const isBehind = replayPosition !== null || ((head?.[0] as number | undefined) ?? 0) > position
  const isFull = isBehind && (yield* hasManyPending(subscription))
  const due = isBehind && !isFull ? now : yield* firstNextTime(subscription)
  const nextDueTime = due === null ? null : Math.max(due, wakeAfter)
  yield sql`update delivery_queues set lease = null, lease_until = 0, is_proven = ${isProven ? 1 : 0},
    failures = ${failures}, refusals = ${refusals}, failing_since = ${failingSince},
    due_time = ${isActive === 1 ? nextDueTime : null}, wake_after = ${(isFull && nextDueTime) || wakeAfter},
    rest_until = ${pause.restUntil} where subscription = ${subscription}`
  return true
}

/** When the next delivery of a subscription is due; null if none is pending. */
function* firstNextTime(subscription: string): Work<number | null> {
  const row = yield* first(
    sql`select next_time from deliveries where subscription = ${subscription} and next_time is not null
      order by next_time limit 1`,
  )
  return (row?.[0] as number | undefined) ?? null
}

/**
 * `rate` is how many requests in a minute the sink allows; null if it set no limit. Returns false, and changes nothing, if
 * the lease was lost.
 */
export function* endHandshake(subscription: string, token: string, rate: number | null): Work<boolean> {
  const rows = yield sql`update delivery_queues set wants_handshake = 0, allowed_rate = ${rate}
    where subscription = ${subscription} and lease = ${token} returning 1`
  return rows.length > 0
}

/**
 * Makes the queue take the events since a time from the log again, up to its present position. A
 * running replay is replaced.
 */
export function* beginReplay(subscription: string, since: number, now: number): Work<void> {
  const row = yield* first(
    sql`select root, position from delivery_queues where subscription = ${subscription} /*pg for update */`,
  )
  if (!row) return
  const [root, position] = row as [string, number]
  const start = yield* lastSequenceBefore(root, since)
  if (start >= position) return
  yield sql`update delivery_queues set replay_position = ${start}, replay_end = ${position}
    where subscription = ${subscription}`
  yield* makeQueueDue(subscription, now)
}

/** How many events of the log are after the positions of active queues, summed over the queues. */
export function* countWaiting(): Work<number> {
  const row = yield* first(sql`select coalesce(sum(c.sequence - q.position), 0) from delivery_queues q
    join event_chains c on c.root = q.root where q.is_active = 1 and c.sequence > q.position`)
  return Number(row?.[0])
}
