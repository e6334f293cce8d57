// Threads for computations whose input callers choose, and whose time can grow faster than the size
// of this input. On the event loop, such a computation would delay all other calls. A thread that
// exceeds its limits is terminated, so no input can occupy a thread for long.
import { LimitError } from './limit-error.ts'
import type { Job, Thread, ThreadOptions } from './thread.ts'
import { openThread } from './thread.ts'

export type PoolOptions = ThreadOptions & {
  /** The maximum number of threads. A thread is started when there is a task for it. */
  maxThreads: number
  /** How many tasks may wait for a thread; further ones are refused. */
  maxWaiting: number
  /** How many tasks of one owner may run or wait, so that no owner can fill the queue alone. */
  maxPerOwner: number
  /** A thread ends after this time without a task, in milliseconds, to give its memory back. */
  idleMs: number
}

export type Pool = {
  /** Runs a task, which is copied to a thread. Rejects with a `LimitError` if it is refused or ended. */
  run(task: unknown, owner: string): Promise<unknown>
  /** Ends all threads. Tasks that run or wait are rejected. */
  close(): Promise<void>
}

export function openPool(options: PoolOptions): Pool {
  const { maxThreads, maxWaiting, maxPerOwner, idleMs } = options
  const waiting: Job[] = []
  /** Threads without a task, each with the timer that ends it. */
  const idle = new Map<Thread, NodeJS.Timeout>()
  const threads = new Set<Thread>()
  const countByOwner = new Map<string, number>()
  let isClosed = false

  function startNext(): void {
    while (!isClosed && waiting.length > 0) {
      const thread = takeIdle() ?? (threads.size < maxThreads ? addThread() : undefined)
      const job = thread && waiting.shift()
      if (!job) return
      thread.perform(job)
    }
  }

  function takeIdle(): Thread | undefined {
    for (const [thread, timer] of idle) {
      clearTimeout(timer)
      idle.delete(thread)
      return thread
    }
    return undefined
  }

  function addThread(): Thread {
    const thread = openThread(options, {
      onIdle() {
        const endThread = () => {
          idle.delete(thread)
          void thread.end(new LimitError('closed'))
        }
        idle.set(thread, setTimeout(endThread, idleMs).unref())
        startNext()
      },
      onEnd() {
        threads.delete(thread)
        clearTimeout(idle.get(thread))
        idle.delete(thread)
        startNext()
      },
    })
    threads.add(thread)
    return thread
  }

  function addToOwner(owner: string, change: number): void {
    const count = (countByOwner.get(owner) ?? 0) + change
    if (count > 0) countByOwner.set(owner, count)
    else countByOwner.delete(owner)
  }

  return {
    async run(task, owner) {
      if (isClosed) throw new LimitError('closed')
      if (waiting.length >= maxWaiting || (countByOwner.get(owner) ?? 0) >= maxPerOwner)
        throw new LimitError('too-many')
      addToOwner(owner, 1)
      try {
        return await new Promise((resolve, reject) => {
          waiting.push({ task, owner, resolve, reject })
          startNext()
        })
      } finally {
        addToOwner(owner, -1)
      }
    },
    async close() {
      isClosed = true
      for (const job of waiting.splice(0)) job.reject(new LimitError('closed'))
      await Promise.all([...threads].map((thread) => thread.end(new LimitError('closed'))))
    },
  }
}
