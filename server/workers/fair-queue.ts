// A queue in which owners take turns, so that an owner with many tasks delays the others by one task at most.
import { deadlineExceeded, tooManyRequests } from '../aip/errors.ts'

export type FairQueueOptions = {
  maxRunning: number
  /** How many tasks of one owner may wait; further ones are refused. */
  maxWaitingPerOwner: number
  /** How many tasks may wait in total. */
  maxWaiting: number
}

export type FairQueue = {
  /** Runs the task when it is its turn. Rejects it if its deadline has passed by then. */
  run<T>(owner: string, task: () => Promise<T>, isLate: () => boolean): Promise<T>
}

type Entry = { start(): void; drop(): void; isLate(): boolean }

const retryAfterSeconds = 1

export function openFairQueue({ maxRunning, maxWaitingPerOwner, maxWaiting }: FairQueueOptions): FairQueue {
  /** The owner whose turn is next is the first. */
  const byOwner = new Map<string, Entry[]>()
  let waiting = 0
  let running = 0

  function takeNext(): Entry | undefined {
    const [owner, entries] = byOwner.entries().next().value ?? []
    const entry = entries?.shift()
    if (owner === undefined || !entries || !entry) return undefined
    byOwner.delete(owner)
    if (entries.length > 0) byOwner.set(owner, entries)
    waiting--
    return entry
  }

  function startNext(): void {
    while (running < maxRunning) {
      const entry = takeNext()
      if (!entry) return
      if (entry.isLate()) {
        entry.drop()
        continue
      }
      running++
      entry.start()
    }
  }

  function add(owner: string, entry: Entry): void {
    const entries = byOwner.get(owner) ?? []
    if (entries.length >= maxWaitingPerOwner || waiting >= maxWaiting)
      throw tooManyRequests(
        'too many expensive calls are waiting; narrow them to fewer groups, or send fewer at a time',
        retryAfterSeconds,
      )
    entries.push(entry)
    byOwner.set(owner, entries)
    waiting++
    startNext()
  }

  return {
    run: (owner, task, isLate) =>
      new Promise((resolve, reject) => {
        const start = () => {
          task()
            .then(resolve, reject)
            .finally(() => {
              running--
              startNext()
            })
        }
        add(owner, { start, drop: () => reject(deadlineExceeded()), isLate })
      }),
  }
}
