// Decides when the calls of all doors start. While the server has time, they start at once. When
// calls arrive faster than it can answer them, they wait (waiting-calls.ts), and in each turn of
// the event loop some of them start, for a limited time: short turns let new calls and connections
// in, and the callers who have used the least time go first.

import { knownWeight } from '../../fair-queueing/parties.ts'
import type { Party } from '../../fair-queueing/waiting-calls.ts'
import { openWaitingCalls } from '../../fair-queueing/waiting-calls.ts'
import type { MaybePromise } from '../../wire/maybe-promise.ts'

export type Turns = {
  /**
   * Starts a call now or in a later turn. `partyOf` is called only if the call has to wait. `refuse`, if given, is called
   * in place of `start` if too many calls of the same organization or network (`Party.group`) wait already.
   */
  run(partyOf: () => Party, start: StartCall, refuse?: () => void): void
  /** Resolves when a call that has already started may go on: in a later turn. */
  wait(party: Party): Promise<void>
}

/** Returns a promise if the call goes on in later turns of the event loop. */
export type StartCall = () => MaybePromise<unknown>

/**
 * Calls start at once until they have used this much time in a turn of the event loop, in
 * milliseconds. Further calls wait.
 */
const timeAtOnce = 0.5
/**
 * The time for waiting calls in a turn of the event loop, in milliseconds: as much as everything else
 * in the turn took, but within these limits. With a fixed time, work that does not wait here, such
 * as parsing, would leave waiting calls too small a share.
 */
const timePerTurn = { min: 0.5, max: 2 }
/** How many waiting calls are started in a turn of the event loop at most. */
const callsPerTurn = 50
/** How many calls of an organization or network of weight 1 may wait before further calls with `refuse` are refused. */
const maxWaitingPerWeight = 100
/**
 * Estimates, in milliseconds, for the parts of a call that are not measured while the server runs:
 * parsing and writing, and the later turns of a call that is not answered at once. They were measured
 * in advance, for creates and sign-ins.
 */
const unmeasuredTime = { atOnce: 0.02, later: 0.5 }
/**
 * The longest measured time that a call is charged for, in milliseconds. A longer time contains a
 * pause that the call did not cause, such as a garbage collection, or another process that had the
 * processor. Without this limit, the next calls of the same organization would wait for a pause that
 * others had caused.
 */
const maxMeasuredTime = 5
/**
 * The time that a known organization or network can save, in milliseconds: that of two calls that were charged for such a
 * pause. Without it, these calls delayed the next ones of the same network: in `npm run soak`, the calls of the
 * well-behaved clients' network waited up to 54 ms (p99), and with it 27 ms.
 */
const maxSavedTime = 2 * maxMeasuredTime

/** `clock` is monotonic, in milliseconds. */
export function openTurns(clock: () => number): Turns {
  const waiting = openWaitingCalls<StartCall>(maxSavedTime / knownWeight)
  let usedAtOnce = 0
  let isResetScheduled = false
  let isTurnScheduled = false
  /** When the time for waiting calls in this turn ends. */
  let end = 0
  /** When the latest turn was scheduled. */
  let scheduled = 0
  let running: { began: number; unmeasured: number } | undefined

  function startAtOnce(start: StartCall): void {
    const began = clock()
    start()
    usedAtOnce += clock() - began
    if (isResetScheduled) return
    isResetScheduled = true
    setImmediate(() => {
      isResetScheduled = false
      usedAtOnce = 0
    })
  }

  /**
   * Node.js runs the microtasks of each immediate callback before the next one. Each call gets a callback of its own,
   * so that the time from one to the next is the time of its call, including its promises.
   */
  function scheduleTurn(): void {
    isTurnScheduled = true
    scheduled = clock()
    setImmediate(() => {
      const time = clock()
      end = time + Math.min(Math.max(time - scheduled, timePerTurn.min), timePerTurn.max)
    })
    for (let at = 0; at < callsPerTurn; at++) setImmediate(startNext)
    setImmediate(endTurn)
  }

  function startNext(): void {
    const time = clock()
    chargeRunning(time)
    if (time >= end) return
    const start = waiting.take()
    if (!start) return
    running = { began: time, unmeasured: unmeasuredTime.later }
    if (!(start() instanceof Promise)) running.unmeasured = unmeasuredTime.atOnce
  }

  function endTurn(): void {
    chargeRunning(clock())
    isTurnScheduled = false
    if (waiting.count() > 0) scheduleTurn()
  }

  function chargeRunning(time: number): void {
    if (!running) return
    waiting.charge(Math.min(time - running.began, maxMeasuredTime) + running.unmeasured)
    running = undefined
  }

  function startLater(party: Party, start: StartCall): void {
    waiting.add(party, start)
    if (!isTurnScheduled) scheduleTurn()
  }

  return {
    run(partyOf, start, refuse) {
      if (waiting.count() === 0 && usedAtOnce < timeAtOnce) {
        startAtOnce(start)
        return
      }
      const party = partyOf()
      if (refuse && waiting.countOf(party) >= maxWaitingPerWeight * party.weight) refuse()
      else startLater(party, start)
    },
    wait: (party) => new Promise((resolve) => startLater(party, resolve)),
  }
}
