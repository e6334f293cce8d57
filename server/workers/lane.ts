// The thread for calls that would block the event loop of a server for long. It starts with the first such call, and ends
// after some time without one.
import type { Worker } from 'node:worker_threads'
import { deadlineExceeded } from '../aip/errors.ts'
import type { CallOtherThread } from '../wire/other-thread.ts'
import type { CallClient } from './call-client.ts'
import { openCallClient } from './call-client.ts'
import { openFairQueue } from './fair-queue.ts'

export type LaneOptions = {
  startThread(): Worker
  now(): number
  /** The thread ends after this time without a call, in milliseconds. */
  idleMs?: number
}

export type Lane = {
  call: CallOtherThread
  close(): Promise<void>
}

/** A query on the embedded store occupies its thread, so one call runs at a time. */
const limits = { maxRunning: 1, maxWaitingPerOwner: 64, maxWaiting: 512 }
const defaultIdleMs = 60_000

type Thread = { worker: Worker; client: CallClient }

export function openLane({ startThread, now, idleMs = defaultIdleMs }: LaneOptions): Lane {
  const queue = openFairQueue(limits)
  let thread: Thread | undefined
  let idleTimer: NodeJS.Timeout | undefined

  function openThread(): Thread {
    const worker = startThread()
    worker.unref()
    const opened: Thread = { worker, client: openCallClient(worker) }
    worker.on('error', () => {}) // `exit` follows, and the calls of the thread fail
    worker.on('exit', () => {
      opened.client.close()
      if (thread === opened) thread = undefined
    })
    return opened
  }

  /** Ends the thread if the call has not returned by its deadline: nothing else can interrupt a query. */
  async function perform(...call: Parameters<CallOtherThread>): ReturnType<CallOtherThread> {
    const [, , { timeout }] = call
    clearTimeout(idleTimer)
    thread ??= openThread()
    const { worker, client } = thread
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      void worker.terminate()
    }, timeout).unref()
    try {
      return await client.call(...call)
    } catch (error) {
      throw isLate ? deadlineExceeded() : error
    } finally {
      clearTimeout(timer)
      idleTimer = setTimeout(close, idleMs).unref()
    }
  }

  async function close(): Promise<void> {
    clearTimeout(idleTimer)
    await thread?.worker.terminate()
  }

  return {
    call(method, caller, envelope, request) {
      const deadline = now() + envelope.timeout
      const run = () =>
        perform(method, caller, { ...envelope, timeout: Math.max(0, deadline - now()) }, request)
      return queue.run(caller.identity, run, () => now() > deadline)
    },
    close,
  }
}
