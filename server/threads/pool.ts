// Threads for computations whose time can grow faster than their input, which comes from callers. On the event loop,
// such a computation would delay all other calls. A thread that exceeds its limits is ended, so no input can occupy one
// for long.
import { Worker } from 'node:worker_threads'

export type PoolOptions = {
  /** The module that the threads run. It answers each message with one message. */
  program: URL
  /** How many threads run at a time. They start with the first tasks. */
  maxThreads: number
  /** How many tasks may wait for a thread; further ones are refused. */
  maxWaiting: number
  /** How many tasks of one owner may run or wait, so that nobody can fill the queue alone. */
  maxPerOwner: number
  /** How long a task may run, in milliseconds. Waiting does not count. */
  timeLimitMs: number
  /** The heap of a thread, in megabytes. */
  maxHeapMb: number
}

export type Pool = {
  /** Runs a task, which is copied to a thread. Rejects with a `LimitError` if it is refused or ended. */
  run(task: unknown, owner: string): Promise<unknown>
  /** Ends all threads. Tasks that run or wait are rejected. */
  close(): Promise<void>
}

/** `cost`: the task needed too much time or memory. `queue`: too many tasks wait. `closed`: the pool is closed. */
export class LimitError extends Error {
  readonly reason: 'cost' | 'queue' | 'closed'

  constructor(reason: LimitError['reason']) {
    super(`a task for a thread was not completed: ${reason}`)
    this.reason = reason
  }
}

type Job = {
  task: unknown
  owner: string
  resolve(result: unknown): void
  reject(error: Error): void
}

export function openPool(options: PoolOptions): Pool {
  const { maxThreads, maxWaiting, maxPerOwner } = options
  const waiting: Job[] = []
  const idle: Thread[] = []
  const threads = new Set<Thread>()
  const countByOwner = new Map<string, number>()
  let isClosed = false

  function startNext(): void {
    while (!isClosed && waiting.length > 0) {
      const thread = idle.pop() ?? (threads.size < maxThreads ? addThread() : undefined)
      const job = thread && waiting.shift()
      if (!job) return
      thread.perform(job)
    }
  }

  function addThread(): Thread {
    const thread = openThread(options, {
      onIdle() {
        idle.push(thread)
        startNext()
      },
      onEnd() {
        threads.delete(thread)
        if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1)
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
        throw new LimitError('queue')
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

type Thread = {
  perform(job: Job): void
  /** Rejects the running job, if there is one. */
  end(reason: Error): Promise<unknown>
}

type ThreadEvents = { onIdle(): void; onEnd(): void }

function openThread(
  { program, timeLimitMs, maxHeapMb }: PoolOptions,
  { onIdle, onEnd }: ThreadEvents,
): Thread {
  const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } })
  let job: Job | undefined
  let isEnding = false
  let timer: NodeJS.Timeout | undefined

  function finish(complete: (finished: Job) => void): void {
    clearTimeout(timer)
    const finished = job
    job = undefined
    if (finished) complete(finished)
  }

  function end(reason: Error): Promise<unknown> {
    isEnding = true
    finish(({ reject }) => reject(reason))
    return worker.terminate()
  }

  worker.on('message', (result) => {
    // A result may arrive while the thread is being ended.
    if (isEnding) return
    finish(({ resolve }) => resolve(result))
    // An idle thread does not keep the process running.
    worker.unref()
    onIdle()
  })
  worker.on('error', (error: NodeJS.ErrnoException) => {
    const isTooLarge = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    finish(({ reject }) => reject(isTooLarge ? new LimitError('cost') : error))
  })
  worker.on('exit', () => {
    finish(({ reject }) => reject(new Error('a thread ended unexpectedly')))
    onEnd()
  })

  return {
    perform(next) {
      job = next
      worker.ref()
      timer = setTimeout(() => void end(new LimitError('cost')), timeLimitMs)
      worker.postMessage(next.task)
    },
    end,
  }
}
