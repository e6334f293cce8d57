// The health of a sink: whether it gets several requests at a time, one at a time, or none for a while.
import type { Health } from '../store/delivery/queues.ts'
import type { Judgement } from './judge.ts'
import { maxFailingMs, pauseAfter } from './schedule.ts'

/** A sink that refuses this many events in a row is treated like one that cannot be reached. */
const maxRefusals = 10

type Result = Pick<Judgement, 'kind' | 'waitMs'>

/** The health after requests that were sent at the same time. If one of them succeeded, the sink works. */
export function healthAfter(
  { isProven, failures, refusals, failingSince }: Health,
  results: readonly Result[],
  now: number,
): Health {
  if (results.some(({ kind }) => kind === 'delivered'))
    return { isProven: true, failures: 0, refusals: 0, failingSince: null }
  const refused = results.filter(({ kind }) => kind === 'refused').length
  const isWorking = refused === results.length && refusals + refused < maxRefusals
  return {
    isProven: isProven && isWorking,
    // A sink that does not work has failed once, however many requests it got at the same time.
    failures: failures + (isWorking ? 0 : 1),
    refusals: refusals + refused,
    failingSince: failingSince ?? now,
  }
}

/**
 * Until when the sink gets no requests; 0 if it may get some now. The pause of a failing sink grows
 * with its failures. If the sink asks for a wait, that wait applies instead, but a failing sink is
 * paused at least as long as after its first failure.
 */
export function pauseUntilOf(
  { failures, refusals }: Health,
  results: readonly Result[],
  now: number,
): number {
  const waitMs = Math.max(0, ...results.map((result) => result.waitMs))
  const isFailing = failures > 0 && (refusals >= maxRefusals || results.some(isUnreachable))
  const pauseMs = Math.max(waitMs, isFailing ? pauseAfter(waitMs > 0 ? 1 : failures) : 0)
  return pauseMs > 0 ? now + pauseMs : 0
}

const isUnreachable = ({ kind }: Result) => kind === 'unreachable'

export const hasFailedTooLong = ({ failingSince }: Health, now: number): boolean =>
  failingSince !== null && now - failingSince > maxFailingMs
