// Limits how many calls use a connection at the same time. The others wait, and the party that has used connections for
// the least time is next, so a party with many or slow calls hardly delays the calls of another party.
import type { Party } from '../../fair-queueing/waiting-calls.ts'
import { openWaitingCalls } from '../../fair-queueing/waiting-calls.ts'
import { StoreError } from '../store-error.ts'

export type Slots = {
  /** Fails with `unavailable` if the task has to wait too long, or if too many tasks wait already. */
  run<T>(task: () => Promise<T>): Promise<T>
}

export type SlotsOptions = {
  count: number
  /** How long a call may wait. */
  timeoutMs: number
  /** The party for which the running code works. */
  currentParty(): Party
  /** A monotonic clock in milliseconds. */
  clock(): number
}

type WaitingCall = { start(): void; hasFailed: boolean }

/** How many calls may wait: of one organization or network, and in total. */
export const maxWaiting = { ofGroup: 2_000, total: 10_000 }
/**
 * The time that a call is charged for, in milliseconds: the minimum when it starts, and the rest when it ends. A time
 * longer than the maximum contains a pause that the call did not cause, such as a busy disk of the database.
 */
const chargedTime = { min: 1, max: 50 }

export function openSlots({ count, timeoutMs, currentParty, clock }: SlotsOptions): Slots {
  const waiting = openWaitingCalls<WaitingCall>()
  let free = count

  /** Resolves when it is the turn of the party. */
  function wait(party: Party): Promise<void> {
    if (waiting.count() >= maxWaiting.total || waiting.countOf(party) >= maxWaiting.ofGroup)
      return Promise.reject(new StoreError('unavailable'))
    return new Promise((resolve, reject) => {
      const call: WaitingCall = {
        hasFailed: false,
        start() {
          clearTimeout(timer)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        call.hasFailed = true
        reject(new StoreError('unavailable'))
      }, timeoutMs)
      waiting.add(party, call)
    })
  }

  async function runLater<T>(party: Party, task: () => Promise<T>): Promise<T> {
    await wait(party)
    const started = clock()
    try {
      return await task()
    } finally {
      const { min, max } = chargedTime
      waiting.chargeLater(party, Math.min(Math.max(clock() - started, min), max) - min)
      release()
    }
  }

  function release(): void {
    for (let next = waiting.take(); next; next = waiting.take()) {
      waiting.charge(next.hasFailed ? 0 : chargedTime.min)
      if (next.hasFailed) continue
      next.start()
      return
    }
    free++
  }

  return {
    run(task) {
      if (free === 0) return runLater(currentParty(), task)
      free--
      return task().finally(release)
    },
  }
}
