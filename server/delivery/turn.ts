// A turn of one subscription: its queue is leased for a short time, and some of its deliveries are
// sent. Turns of different subscriptions are independent, so a slow sink delays only its own
// deliveries.
import { fromBinary } from '@bufbuild/protobuf'
import { SubscriptionSchema } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import type { Health, Pause } from '../store/delivery/queues.ts'
import { endHandshake, readLeasedQueue, releaseQueue } from '../store/delivery/queues.ts'
import type { Work } from '../store/work.ts'
import type { DeliverDependencies, Destination } from './deliver.ts'
import { deliver } from './deliver.ts'
import { shakeHands } from './handshake.ts'
import { hasFailedTooLong, healthAfter, pauseUntilOf } from './health.ts'
import { nextDeliveries } from './next-deliveries.ts'

export type TurnDependencies = DeliverDependencies & {
  /** A monotonic clock in milliseconds. */
  clock(): number
  /** Stores the result of the handshake in the subscription. */
  recordHandshake(subscription: string, isAllowed: boolean): Work<void>
  /** Sets the state of the subscription and stops its queue. Returns false if the subscription is not active any more. */
  disable(subscription: string, reason: string): Work<boolean>
  /** Called after the subscription was disabled. */
  onDisabled(subscription: string, reason: string): void
}

/** `token` is that of the lease. */
export type Turn = { subscription: string; token: string }

/** No request begins after this time, and none takes longer than 15 seconds, so a turn ends before its lease does. */
const turnMs = 5000
export const leaseMs = 60_000
const maxPerTurn = 64
/** How many requests a sink gets at a time if it has accepted the last ones. Otherwise, it gets one. */
const maxConcurrent = 4

export async function takeTurn(deps: TurnDependencies, { subscription: uid, token }: Turn): Promise<void> {
  const queue = await deps.store.read(() => readLeasedQueue(uid, token))
  if (!queue) return
  const destination = { subscription: fromBinary(SubscriptionSchema, queue.proto), queue, token }
  const rate = queue.wantsHandshake ? await performHandshake(deps, destination) : queue.allowedRate
  const { health, pause, reason } = await sendSome(deps, destination, rate)
  const isDisabled = await deps.store.write(function* () {
    const { dueTime } = queue
    const isReleased = yield* releaseQueue(uid, token, { ...health, ...pause, dueTime }, deps.now())
    return isReleased && reason !== undefined && (yield* deps.disable(uid, reason))
  })
  if (isDisabled && reason !== undefined) deps.onDisabled(uid, reason)
}

/** Returns the rate that the sink allows. */
async function performHandshake(
  deps: TurnDependencies,
  { subscription: { uid, sink }, token }: Destination,
): Promise<number | null> {
  const { isAllowed, rate } = await shakeHands(deps.send, sink, deps.origin, deps.stopped)
  if (deps.stopped.aborted) return rate
  await deps.store.write(function* () {
    if (yield* endHandshake(uid, token, rate)) yield* deps.recordHandshake(uid, isAllowed)
  })
  return rate
}

/** `reason` is why the subscription is to be disabled. */
type Result = { health: Health; pause: Pause; reason: string | undefined }

const minuteMs = 60_000

/**
 * Sends deliveries until none is due, the sink fails, or the turn is over. `rate` is how many requests in a minute the
 * sink allows. The turn sends at most a sixtieth of them, and the next turn begins when the rate allows further requests.
 */
async function sendSome(
  deps: TurnDependencies,
  destination: Destination,
  rate: number | null,
): Promise<Result> {
  const { clock, now, stopped } = deps
  const end = clock() + turnMs
  let health: Health = destination.queue
  let pauseUntil = 0
  /** The part of the pause that the sink has asked for, by `Retry-After` or by its rate (see `releaseQueue`). */
  let restUntil = 0
  let reason: string | undefined
  const most = rate === null ? maxPerTurn : Math.min(maxPerTurn, Math.ceil(rate / 60))
  let sent = 0
  const begin = now()
  while (sent < most && pauseUntil === 0 && !reason && clock() < end && !stopped.aborted) {
    const wanted = Math.min(most - sent, health.isProven ? maxConcurrent : 1)
    const due = await nextDeliveries(deps, destination, wanted)
    if (due.length === 0) break
    const judgements = await Promise.all(due.map((delivery) => deliver(deps, destination, delivery)))
    const results = judgements.filter((judgement) => judgement !== undefined)
    sent += due.length
    if (results.length === 0) continue
    health = healthAfter(health, results, now())
    pauseUntil = pauseUntilOf(health, results, now())
    if (results.some(({ waitMs }) => waitMs > 0)) restUntil = pauseUntil
    if (results.some(({ kind }) => kind === 'gone')) reason = 'the sink answered with the status 410'
  }
  // A turn without results leaves the health as it is. `failingSince` may then be the time of a delivery that ended long
  // ago, and the sink may work.
  if (health !== destination.queue && hasFailedTooLong(health, now()))
    reason ??= 'no delivery has succeeded for five days'
  if (rate !== null) restUntil = Math.max(restUntil, begin + Math.ceil((sent * minuteMs) / rate))
  return { health, pause: { wakeAfter: Math.max(pauseUntil, restUntil), restUntil }, reason }
}
