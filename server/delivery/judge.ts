// The consequences of the answer of a sink, for the delivery and for the sink.
import type { RandomBytes } from '../crypto/random.ts'
import type { Outcome, StoredDelivery } from '../store/delivery/deliveries.ts'
import { retryAfterMs, retryDelay } from './schedule.ts'
import type { SinkResponse } from './send.ts'

/**
 * `gone`: the sink wants no more events. `unreachable`: it does not work at the moment. `refused`: it works, but does not
 * accept this event.
 */
export type AnswerKind = 'delivered' | 'gone' | 'unreachable' | 'refused'

export type Judgement = {
  kind: AnswerKind
  outcome: Outcome
  /** How long the sink asks the server to wait (`Retry-After`), in milliseconds. */
  waitMs: number
}

export function judge(
  { status, headers }: Pick<SinkResponse, 'status' | 'headers'>,
  { step, deadline }: Pick<StoredDelivery, 'step' | 'deadline'>,
  now: number,
  random: RandomBytes,
): Judgement {
  const kind = kindOf(status)
  if (kind === 'delivered') return { kind, outcome: { kind: 'delivered' }, waitMs: 0 }
  const waitMs = retryAfterMs(headers['retry-after'], now)
  const nextTime = now + Math.max(retryDelay(step + 1, random), waitMs)
  // The last attempt is at the deadline.
  const outcome: Outcome =
    now >= deadline ? { kind: 'failed' } : { kind: 'retry', nextTime: Math.min(nextTime, deadline) }
  return { kind, outcome, waitMs }
}

/** Redirects are refusals: they are not followed (CloudEvents web hooks, 2.1). */
function kindOf(status: number): AnswerKind {
  if (status >= 200 && status < 300) return 'delivered'
  if (status === 410) return 'gone'
  const isBusy = status === 408 || status === 425 || status === 429
  return status === 0 || status >= 500 || isBusy ? 'unreachable' : 'refused'
}
