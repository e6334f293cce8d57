// The queue of the connection that writes. Writes that wait at the same time are committed together. While a commit is
// synced, further writes wait: they need the next sync anyway, and share it.
import { StoreError } from '../store-error.ts'
import type { Work } from '../work.ts'
import { translate } from './errors.ts'
import type { Job, Outcome } from './run-jobs.ts'
import { runJobs } from './run-jobs.ts'
import type { WriteLockOptions } from './write-lock.ts'
import { lockRetryMs, openWriteLock } from './write-lock.ts'

const queueLimit = 10_000

export type WriteQueue = {
  /** `writesDirectly`: whether the work also writes on the connection itself, as migrations do. */
  write<T>(work: () => Work<T>, deadline?: number, writesDirectly?: boolean): Promise<T>
  /** Accepts no more writes, and resolves when the waiting writes are done. */
  close(): Promise<void>
}

export type WriteQueueOptions = WriteLockOptions & {
  /** Called before anything is written. */
  beforeWrite: () => void
  /** Called after jobs have run, whether they were committed or rolled back. */
  afterWrite: () => void
  /** Resolves when everything that has been committed is on disk. Only then do the writes of a commit resolve. */
  sync: (writes: number) => Promise<void>
  /** Whether a sync has failed. Then all writes are refused. */
  isBroken: () => boolean
}

export function openWriteQueue(options: WriteQueueOptions): WriteQueue {
  const { writer, clock, beforeWrite, afterWrite, sync, isBroken } = options
  let waiting: Job[] = []
  let isScheduled = false
  let isClosed = false
  let isSyncing = false
  let onIdle = () => {}
  let closing: Promise<void> | undefined
  const lock = openWriteLock(options, (error) => {
    for (const job of waiting.splice(0)) job.settle({ error: translate(error) })
  })

  function flush(): void {
    isScheduled = false
    beforeWrite()
    waiting = waiting.filter((job) => isInTime(job, clock.now()))
    // If no write waits any more, the lock timeout of the next write starts anew.
    if (waiting.length === 0) lock.giveUp()
    else if (lock.begin()) settleFinished(runJobs(writer, waiting, clock.now, lock.begin))
    continueOrEnd()
  }

  function settleFinished(outcomes: readonly Outcome[]): void {
    afterWrite()
    const jobs = waiting.splice(0, outcomes.length)
    if (outcomes.every((outcome) => 'error' in outcome)) settleEach(jobs, outcomes)
    else void settleWhenDurable(jobs, outcomes)
  }

  async function settleWhenDurable(jobs: readonly Job[], outcomes: readonly Outcome[]): Promise<void> {
    isSyncing = true
    try {
      await sync(jobs.length)
      settleEach(jobs, outcomes)
    } catch (error) {
      for (const job of [...jobs, ...waiting.splice(0)]) job.settle({ error })
    }
    isSyncing = false
    continueOrEnd()
  }

  function continueOrEnd(): void {
    if (waiting.length > 0) schedule()
    else if (!isSyncing) onIdle()
  }

  function schedule(): void {
    if (isScheduled || isSyncing) return
    isScheduled = true
    if (lock.isTaken()) clock.sleep(lockRetryMs).then(flush)
    else setImmediate(flush)
  }

  return {
    write<T>(work: () => Work<T>, deadline = Number.POSITIVE_INFINITY, writesDirectly = false): Promise<T> {
      if (isClosed || isBroken() || waiting.length >= queueLimit)
        return Promise.reject(new StoreError('unavailable'))
      return new Promise((resolve, reject) => {
        const settle = (outcome: Outcome) =>
          'error' in outcome ? reject(outcome.error) : resolve(outcome.value as T) // the value of this work
        waiting.push({ work, deadline, settle, writesDirectly })
        schedule()
      })
    },
    close() {
      isClosed = true
      closing ??= new Promise((resolve) => {
        onIdle = resolve
        continueOrEnd()
      })
      return closing
    },
  }
}

function settleEach(jobs: readonly Job[], outcomes: readonly Outcome[]): void {
  for (const [at, outcome] of outcomes.entries()) jobs[at]?.settle(outcome)
}

/** Whether the job may still run. A job past its deadline fails here, also while another process has the lock. */
function isInTime({ deadline, settle }: Job, now: number): boolean {
  if (now <= deadline) return true
  settle({ error: new StoreError('deadline') })
  return false
}
