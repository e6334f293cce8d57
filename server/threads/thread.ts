// One thread of a pool. It performs one job at a time, and is terminated if the job exceeds its time or memory limit.
import { Worker } from 'node:worker_threads'
import { LimitError } from './limit-error.ts'
import { maxYoungGenerationSizeMb } from './young-generation.ts'

export type ThreadOptions = {
  /** The module that the thread runs. It answers each message with one message. */
  program: string | URL
  /** How much processor time a job may use, with the start of a new thread. */
  timeLimitMs: number
  /** How often the processor time of a job is measured. Default: each second, because few jobs take so long. */
  measureIntervalMs?: number
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

/** How many times its limit of processor time a job may take in all: on a busy machine, a thread gets little of it. */
const maxSlowdown = 6

type ThreadEvents = { onIdle(): void; onEnd(): void }

export function openThread(
  { program, timeLimitMs, maxHeapMb, measureIntervalMs = 1000 }: ThreadOptions,
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
    clearInterval(timer)
    const finished = job
    job = undefined
    if (finished) complete(finished)
  }

  function end(reason: Error): Promise<unknown> {
    isEnding = true
    finish(({ reject }) => reject(reason))
    return worker.terminate()
  }

  /** Ends the thread if its job exceeds the time limit. */
  function limitTime(limited: Job): void {
    const intervalMs = Math.min(timeLimitMs, measureIntervalMs)
    let elapsedMs = 0
    let usedMs = 0
    let lastMs: number | undefined
    let isMeasuring = false
    const measure = async () => {
      isMeasuring = true
      const nowMs = await processorTimeOf(worker)
      isMeasuring = false
      // The time before the first measurement counts in full.
      usedMs += nowMs === undefined || lastMs === undefined ? intervalMs : nowMs - lastMs
      lastMs = nowMs ?? lastMs
      if (job === limited && usedMs >= timeLimitMs) void end(new LimitError('exceeded'))
    }
    timer = setInterval(() => {
      elapsedMs += intervalMs
      if (elapsedMs >= timeLimitMs * maxSlowdown) void end(new LimitError('exceeded'))
      // A thread that gets no processor time does not answer.
      else if (!isMeasuring) void measure()
    }, intervalMs)
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
      limitTime(next)
      worker.postMessage(next.task)
    },
    end,
  }
}

/** In milliseconds. Undefined if the thread does not run yet or any more, or if this Node cannot measure it. */
async function processorTimeOf(worker: Worker): Promise<number | undefined> {
  try {
    const { user, system } = await worker.cpuUsage()
    return (user + system) / 1000
  } catch {
    return undefined
  }
}
