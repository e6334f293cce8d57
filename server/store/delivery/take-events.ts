// Takes events from the log for the queue of a subscription. The log is read in the order of sealing, so the position of
// the queue never passes an event of a slower transaction.
import type { SealedEvent } from '../events/event-row.ts'
import { readSealedEvent } from '../events/read-sealed.ts'
import { sql } from '../sql.ts'
import type { Work } from '../work.ts'
import { all, first } from '../work.ts'
import type { NewDelivery } from './deliveries.ts'
import { hasManyPending, insertDeliveries } from './deliveries.ts'

export type Taking = {
  subscription: string
  /** The token of the lease. */
  token: string
  /** How many deliveries are wanted at most. */
  wanted: number
  now: number
  /** Whether events of this group can concern the subscription. */
  isInGroup(group: string): boolean
  /** Undefined if the subscription does not get this event. */
  draft(event: SealedEvent): NewDelivery | undefined
}

/** How many rows of the log one transaction looks at, and how many of them it reads whole. */
const maxScanned = 200
const maxRead = 20

/** Returns whether there is more to take. */
export function* takeEvents(taking: Taking): Work<boolean> {
  const { subscription, token } = taking
  const row = yield* first(sql`select root, position, replay_position, replay_end from delivery_queues
    where subscription = ${subscription} and lease = ${token} and is_active = 1 /*pg for update */`)
  if (!row || (yield* hasManyPending(subscription))) return false
  const [root, position, replayPosition, replayEnd] = row as [string, number, number | null, number | null]
  const head = yield* first(sql`select sequence from event_chains where root = ${root}`)
  const end = (head?.[0] as number | undefined) ?? 0
  if (end > position) {
    const reached = yield* takeBetween(taking, root, position, end)
    yield sql`update delivery_queues set position = ${reached} where subscription = ${subscription}`
    return reached < end || replayPosition !== null
  }
  if (replayPosition === null || replayEnd === null) return false
  const reached = yield* takeBetween(taking, root, replayPosition, replayEnd)
  const isDone = reached >= replayEnd
  yield sql`update delivery_queues set replay_position = ${isDone ? null : reached},
    replay_end = ${isDone ? null : replayEnd} where subscription = ${subscription}`
  return !isDone
}

/** Takes events after `start`, up to `end`. Returns the sequence up to which all have been considered. */
function* takeBetween(
  { wanted, now, isInGroup, draft }: Taking,
  root: string,
  start: number,
  end: number,
): Work<number> {
  // Without the resources, which can be large.
  const rows = yield* all(sql`select sequence, group_uid from events
    where root = ${root} and sequence > ${start} and sequence <= ${end} order by sequence limit ${maxScanned}`)
  const drafts: NewDelivery[] = []
  let read = 0
  let reached = rows.length < maxScanned ? end : (rows.at(-1)?.[0] as number)
  for (const [sequence, group] of rows as [number, string][]) {
    if (!isInGroup(group)) continue
    if (drafts.length === wanted || read === maxRead) {
      reached = sequence - 1
      break
    }
    read++
    const event = yield* readSealedEvent(root, sequence)
    const delivery = event && draft(event)
    if (delivery) drafts.push(delivery)
  }
  yield* insertDeliveries(drafts, now)
  return reached
}

/** Whether there are events to take. */
export function* isBehind(subscription: string): Work<boolean> {
  const row = yield* first(sql`select 1 from delivery_queues q left join event_chains c on c.root = q.root
    where q.subscription = ${subscription} and (q.replay_position is not null or c.sequence > q.position)`)
  return row !== undefined
}
