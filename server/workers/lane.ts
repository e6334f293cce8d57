// The thread for calls that would block the event loop of a server for long, or take many of its connections. It starts
// with the first such call, and ends after some time without one.
import type { Worker } from 'node:worker_threads'
import { deadlineExceeded } from '../aip/errors.ts'
import { partyOfCaller } from '../fair-queueing/parties.ts'
import type { Caller } from '../wire/caller.ts'
import type { Envelope } from '../wire/envelope.ts'
import type { ExpensiveCalls } from '../wire/other-thread.ts'
import type { CallClient } from './call-client.ts'
import { openCallClient } from './call-client.ts'
import { openFairQueue } from './fair-queue.ts'

export type LaneOptions = {
  startThread(): Worker
  now(): number
  /** How many calls run at the same time. */
  maxRunning: number
  /** The thread is ended if a call has not been answered after this time, in milliseconds. `Infinity`: never. */
  maxRunMs?: number
  /** The thread ends after this time without a call, in milliseconds. */
  idleMs?: number
}

export type Lane = ExpensiveCalls & { close(): Promise<void> }

const waitingLimits = { maxWaitingPerGroup: 64, maxWaiting: 512 }
/** The longest deadline of a call. For a stream, the time limit for its first reply. */
const defaultMaxRunMs = 60_000
const defaultIdleMs = 60_000

type Thread = { worker: Worker; client: CallClient }

export function openLane({
  startThread,
  now,
  maxRunning,
  maxRunMs = defaultMaxRunMs,
  idleMs = defaultIdleMs,
}: LaneOptions): Lane {
  const queue = openFairQueue({ ...waitingLimits, maxRunning })
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

  /**
   * Ends the thread if the call is not answered in time: nothing else can interrupt a query of the embedded store. The
   * deadline of the call does not end it: clients choose their deadlines, and streams of other callers run in the same
   * thread. The corridor answers the call at its deadline.
   */
  async function perform<T>(task: (client: CallClient) => Promise<T>): Promise<T> {
    clearTimeout(idleTimer)
    thread ??= openThread()
    const { worker, client } = thread
    const late = { ended: undefined as Promise<unknown> | undefined }
    const end = () => {
      late.ended = worker.terminate()
    }
    const timer = maxRunMs < Number.POSITIVE_INFINITY ? setTimeout(end, maxRunMs).unref() : undefined
    try {
      const answer = await task(client)
      if (!late.ended) return answer
    } catch (error) {
      if (!late.ended) throw error
    } finally {
      clearTimeout(timer)
      await late.ended // an answer can arrive before the thread has ended, but the next call needs another thread
      endWhenIdle()
    }
    throw deadlineExceeded()
  }

  function endWhenIdle(): void {
    clearTimeout(idleTimer)
    idleTimer = setTimeout(() => {
      if (thread?.client.isIdle() === false) endWhenIdle()
      else void close()
    }, idleMs).unref()
  }

  async function close(): Promise<void> {
    clearTimeout(idleTimer)
    const ended = thread
    thread = undefined // a call that comes now starts another thread
    await ended?.worker.terminate()
  }

  /** Waits until it is the turn of the caller. */
  function enqueue<T>(
    { identity }: Caller,
    envelope: Envelope,
    task: (client: CallClient, envelope: Envelope) => Promise<T>,
  ): Promise<T> {
    const deadline = now() + envelope.timeout
    const run = () => {
      const timeout = Math.max(0, deadline - now())
      return perform((client) => task(client, { ...envelope, timeout }))
    }
    return queue.run(partyOfCaller(identity), run, () => now() > deadline)
  }

  return {
    call: (method, caller, envelope, request) =>
      enqueue(caller, envelope, (client, remaining) => client.call(method, caller, remaining, request)),
    async *stream(method, caller, envelope, request) {
      yield* await enqueue(caller, envelope, (client, remaining) =>
        client.openStream(method, caller, remaining, request),
      )
    },
    close,
  }
}
