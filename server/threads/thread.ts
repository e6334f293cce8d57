// One thread of a pool. It performs one job at a time, and is terminated if the job exceeds its time or memory limit.
import { Worker } from 'node:worker_threads'
import { LimitError } from './limit-error.ts'
import { maxYoungGenerationSizeMb } from './young-generation.ts'

export type ThreadOptions = {
  /** The module that the thread runs. It answers each message with one message. */
  program: string | URL
  /** How long a job may run, with the start of a new thread but without the wait for a thread. */
  timeLimitMs: number
  /** The maximum size of the old generation of the thread's heap. */
  maxHeapMb: number
}

export type Job = {
  task: unknown
  owner: string
  resolve(result: unknown): void
  reject(error: Error): void
}

export type Thread = {
  perform(job: Job): void
  /** Terminates the thread and rejects its running job, if there is one. */
  end(reason: Error): Promise<unknown>
}

type ThreadEvents = { onIdle(): void; onEnd(): void }

export function openThread(
  { program, timeLimitMs, maxHeapMb }: ThreadOptions,
  { onIdle, onEnd }: ThreadEvents,
): Thread {
  const resourceLimits = {
    maxOldGenerationSizeMb: maxHeapMb,
    maxYoungGenerationSizeMb: maxYoungGenerationSizeMb.checks,
  }
  const worker = new Worker(program, { resourceLimits })
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
    const isOutOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    finish(({ reject }) => reject(isOutOfMemory ? new LimitError('exceeded') : error))
  })
  worker.on('exit', () => {
    finish(({ reject }) => reject(new Error('a thread ended unexpectedly')))
    onEnd()
  })

  return {
    perform(next) {
      job = next
      worker.ref()
      timer = setTimeout(() => void end(new LimitError('exceeded')), timeLimitMs)
      worker.postMessage(next.task)
    },
    end,
  }
}
