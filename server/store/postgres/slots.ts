// Limits how many calls use a connection at the same time. The others wait, and the next one is of the party that has used
// connections for the least time while others waited. So a party with many calls hardly delays the calls of others.
import { knownWeight } from '../../fair-queueing/parties.ts'
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

/**
 * How many calls of an organization or network may wait, for each unit of its weight; further ones fail. When `total` calls
 * wait, only those parties may add one of which fewer than `ofGroupWhenFull` wait, so that nobody can lock others out.
 */
export const maxWaiting = { perWeight: 250, total: 10_000, ofGroupWhenFull: 20 }
/**
 * The time that a call is charged for, in milliseconds: the minimum when it starts, and the rest when it ends. A time
 * longer than the maximum contains a pause that the call did not cause, such as a busy disk of the database.
 */
const chargedTime = { min: 1, max: 50 }
/** The time that a known party can save, in milliseconds: that of two calls that were charged for such a pause. */
const maxSavedTime = 2 * chargedTime.max

export function openSlots({ count, timeoutMs, currentParty, clock }: SlotsOptions): Slots {
  const waiting = openWaitingCalls<WaitingCall>(maxSavedTime / knownWeight)
  let free = count

  /** Resolves when it is the turn of the party. */
  function wait(party: Party): Promise<void> {
    const isFull = waiting.count() >= maxWaiting.total
    const limit = isFull ? maxWaiting.ofGroupWhenFull : maxWaiting.perWeight * party.weight
    if (waiting.countOf(party) >= limit) return Promise.reject(new StoreError('unavailable'))
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
      chargeRest(party, started, chargedTime.min)
      release()
    }
  }

  async function runAtOnce<T>(task: () => Promise<T>): Promise<T> {
    free--
    const started = clock()
    try {
      return await task()
    } finally {
      if (waiting.count() > 0) chargeRest(currentParty(), started, 0)
      release()
    }
  }

  function chargeRest(party: Party, started: number, charged: number): void {
    const { min, max } = chargedTime
    waiting.chargeLater(party, Math.min(Math.max(clock() - started, min), max) - charged)
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

  return { run: (task) => (free > 0 ? runAtOnce(task) : runLater(currentParty(), task)) }
}
