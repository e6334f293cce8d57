// A queue in which parties take turns, so that a party with many tasks delays the others by one task at most.
import { deadlineExceeded, tooManyRequests } from '../aip/errors.ts'
import type { Party } from '../fair-queueing/waiting-calls.ts'
import { openWaitingCalls } from '../fair-queueing/waiting-calls.ts'

export type FairQueueOptions = {
  maxRunning: number
  /** How many tasks of an organization or person may wait; further ones are refused. */
  maxWaitingPerGroup: number
  /** How many tasks may wait in total. */
  maxWaiting: number
}

export type FairQueue = {
  /** Runs the task when it is its turn. Rejects it if its deadline has passed by then. */
  run<T>(party: Party, task: () => Promise<T>, isLate: () => boolean): Promise<T>
}

type Entry = { start(): void; drop(): void; isLate(): boolean }

const retryAfterSeconds = 1
/** All tasks count equally. */
const costOfTask = 1
/** A party saves nothing, because no task is charged for a pause. */
const maxSaved = 0

export function openFairQueue({ maxRunning, maxWaitingPerGroup, maxWaiting }: FairQueueOptions): FairQueue {
  const waiting = openWaitingCalls<Entry>(maxSaved)
  let running = 0

  function startNext(): void {
    while (running < maxRunning) {
      const entry = waiting.take()
      if (!entry) return
      const isLate = entry.isLate()
      waiting.charge(isLate ? 0 : costOfTask)
      if (isLate) {
        entry.drop()
        continue
      }
      running++
      entry.start()
    }
  }

  function add(party: Party, entry: Entry): void {
    if (waiting.countOf(party) >= maxWaitingPerGroup || waiting.count() >= maxWaiting)
      throw tooManyRequests(
        'too many expensive calls are waiting; narrow them to fewer groups, or send fewer at a time',
        retryAfterSeconds,
      )
    waiting.add(party, entry)
    startNext()
  }

  return {
    run: (party, task, isLate) =>
      new Promise((resolve, reject) => {
        const start = () => {
          task()
            .then(resolve, reject)
            .finally(() => {
              running--
              startNext()
            })
        }
        add(party, { start, drop: () => reject(deadlineExceeded()), isLate })
      }),
  }
}
