// Deliveries: events on their way to the sink of a subscription, and what became of them.
import type { Row, Sql } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { StoreError } from '../store-error.ts'
import { insertRows } from '../table.ts'
import type { Work } from '../work.ts'
import { all, first } from '../work.ts'

/** The values of the enum DeliveryState in the contract. */
export const deliveryStates = { pending: 1, delivered: 2, failed: 3 } as const

/**
 * One request to a sink. `response` is the beginning of the body of the answer; `status` is 0 without an answer. Only
 * the last attempt has `headers`: those of its request, with secrets hidden.
 */
export type StoredAttempt = {
  time: number
  latencyMs: number
  status: number
  response: string
  error: string
  headers?: Readonly<Record<string, string>>
}

export type StoredDelivery = {
  uid: string
  subscription: string
  /** The number of the event in its organization; 0 for a test event. */
  sequence: number
  eventId: string
  eventType: string
  subject: string
  /** The content of a test event as JSON. */
  testEvent: string | null
  state: number
  createTime: number
  deadline: number
  nextTime: number | null
  step: number
  finishTime: number | null
  attempts: StoredAttempt[]
}

const columns = [
  ...['uid', 'subscription', 'sequence', 'event_id', 'event_type', 'subject', 'test_event', 'state'],
  ...['create_time', 'deadline', 'next_time', 'step', 'finish_time', 'attempts'],
]
const selected = raw(columns.join(', '))

/** Time of the next attempt, not before `wake_after`. Null if the subscription is not active. */
const nextAttempt = `(select case when q.wake_after > next_time then q.wake_after else next_time end
  from delivery_queues q where q.subscription = deliveries.subscription and q.is_active = 1)`

/** The columns as callers see them. */
const shown = raw(columns.map((column) => (column === 'next_time' ? nextAttempt : column)).join(', '))

function deliveryOf(row: Row): StoredDelivery {
  const [uid, subscription, sequence, eventId, eventType, subject, testEvent, state, ...rest] = row
  const [createTime, deadline, nextTime, step, finishTime, attempts] = rest
  return {
    ...{ uid, subscription, sequence, eventId, eventType, subject, testEvent, state, createTime, deadline },
    ...{ nextTime, step, finishTime, attempts: JSON.parse(attempts as string) },
  } as StoredDelivery // the columns have these types
}

/** How long an event is sent again and again before its delivery fails. */
export const deliveryPeriodMs = 72 * 60 * 60 * 1000

export type NewDelivery = Pick<
  StoredDelivery,
  'uid' | 'subscription' | 'sequence' | 'eventId' | 'eventType' | 'subject' | 'testEvent'
>

/** The deadline is not computed from the time of the event: a replayed event may be old. */
export function* insertDeliveries(drafts: readonly NewDelivery[], now: number): Work<void> {
  yield* insertRows(
    'deliveries',
    columns,
    drafts.map(({ uid, subscription, sequence, eventId, eventType, subject, testEvent }) => [
      ...[uid, subscription, sequence, eventId, eventType, subject, testEvent, deliveryStates.pending],
      ...[now, now + deliveryPeriodMs, now, 0, null, '[]'],
    ]),
  )
}

export function* readDelivery(uid: string): Work<StoredDelivery | undefined> {
  const row = yield* first(sql`select ${shown} from deliveries where uid = ${uid}`)
  return row && deliveryOf(row)
}

/** Whether the queue of the delivery still has the lease with this token. */
const isLeased = (token: string, isActive = raw('')): Sql => sql`exists (select 1 from delivery_queues q
  where q.subscription = deliveries.subscription and q.lease = ${token} ${isActive})`

/** `token` is that of the lease. Returns no deliveries if the lease was lost or the subscription is not active. */
export function* readDueDeliveries(
  subscription: string,
  token: string,
  now: number,
  limit: number,
): Work<StoredDelivery[]> {
  const rows = yield* all(sql`select ${selected} from deliveries
    where subscription = ${subscription} and next_time <= ${now}
    and ${isLeased(token, raw('and q.is_active = 1'))}
    order by next_time, uid limit ${limit}`)
  return rows.map(deliveryOf)
}

export type Position = { createTime: number; uid: string }

/** `state` is 0 for all. */
export type DeliverySelection = { subscription: string; state: number }

export type DeliveryPage = { after: Position | undefined; descending: boolean; skip: number; limit: number }

/** The deliveries of a subscription, ordered by create time. */
export function* listDeliveries(
  selection: DeliverySelection,
  { after, descending, skip, limit }: DeliveryPage,
): Work<StoredDelivery[]> {
  const key = after && sql`(${after.createTime}, ${after.uid})`
  const following = key ? sql`and (create_time, uid) ${raw(descending ? '<' : '>')} ${key}` : raw('')
  const order = raw(descending ? 'create_time desc, uid desc' : 'create_time, uid')
  const rows = yield* all(sql`select ${shown} from deliveries where ${isSelected(selection)} ${following}
    order by ${order} limit ${limit} offset ${skip}`)
  return rows.map(deliveryOf)
}

const isSelected = ({ subscription, state }: DeliverySelection): Sql =>
  state === 0 ? sql`subscription = ${subscription}` : sql`subscription = ${subscription} and state = ${state}`

/** Throws a StoreError `expensive` if there are more than `maxRows`. Undefined: no limit. */
export function* countDeliveries(selection: DeliverySelection, maxRows: number | undefined): Work<number> {
  if (maxRows !== undefined) {
    const row = yield* first(sql`select 1 from deliveries where ${isSelected(selection)}
      order by create_time, uid limit 1 offset ${maxRows}`)
    if (row) throw new StoreError('expensive')
  }
  const [row] = yield sql`select count(*) from deliveries where ${isSelected(selection)}`
  return Number(row?.[0])
}

const maxStoredAttempts = 20

export type Outcome = { kind: 'delivered' } | { kind: 'retry'; nextTime: number } | { kind: 'failed' }

/**
 * Stores an attempt and its outcome. Stores nothing if the delivery was deleted, or if the lease was
 * lost: then another turn sends the delivery, perhaps to another sink. If the delivery was restarted
 * meanwhile, which changes its deadline, only the attempt is stored.
 */
export function* recordAttempt(
  { uid, deadline }: Pick<StoredDelivery, 'uid' | 'deadline'>,
  token: string,
  attempt: StoredAttempt,
  outcome: Outcome,
  now: number,
): Work<void> {
  const row = yield* first(
    sql`select attempts, deadline from deliveries where uid = ${uid} and ${isLeased(token)} /*pg for update */`,
  )
  if (!row) return
  const earlier = (JSON.parse(row[0] as string) as StoredAttempt[]).map(({ headers, ...rest }) => rest)
  const attempts = [...earlier, attempt].slice(-maxStoredAttempts)
  yield sql`update deliveries set attempts = ${JSON.stringify(attempts)} where uid = ${uid}`
  if (row[1] !== deadline) return
  const isPending = outcome.kind === 'retry'
  const state = isPending ? deliveryStates.pending : deliveryStates[outcome.kind]
  yield sql`update deliveries set state = ${state}, step = step + 1,
    next_time = ${isPending ? outcome.nextTime : null}, finish_time = ${isPending ? null : now} where uid = ${uid}`
}

/** Begins the whole schedule again. Returns whether the delivery exists. */
export function* restartDelivery(uid: string, now: number): Work<boolean> {
  const rows =
    yield sql`update deliveries set state = ${deliveryStates.pending}, step = 0, next_time = ${now},
    finish_time = null, deadline = ${now + deliveryPeriodMs} where uid = ${uid} returning uid`
  return rows.length > 0
}

/** If this many deliveries of a subscription wait for their next attempt, it gets no more. */
export const maxPendingDeliveries = 1000

export function* hasManyPending(subscription: string): Work<boolean> {
  const row = yield* first(sql`select 1 from deliveries where subscription = ${subscription}
    and next_time is not null order by next_time limit 1 offset ${maxPendingDeliveries - 1}`)
  return row !== undefined
}

/** Deletes a bounded number of deliveries of a subscription. Returns whether there may be more. */
export function* deleteDeliveries(subscription: string, limit: number): Work<boolean> {
  const rows = yield sql`delete from deliveries where uid in (select uid from deliveries
    where subscription = ${subscription} order by create_time limit ${limit}) returning 1`
  return rows.length === limit
}

/** Deletes a bounded number of deliveries that ended before a time. Returns whether there may be more. */
export function* deleteFinished(before: number, limit: number): Work<boolean> {
  const rows = yield sql`delete from deliveries where uid in (select uid from deliveries
    where finish_time < ${before} order by finish_time limit ${limit} /*pg for update skip locked */) returning 1`
  return rows.length === limit
}

export function* countPending(): Work<number> {
  const row = yield* first(sql`select count(*) from deliveries where next_time is not null`)
  return Number(row?.[0])
}
