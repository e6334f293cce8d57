// Responses that are streams. Each reply is written when the client has read the previous one, so
// no replies collect in memory for a slow client. If the client disconnects, the call is aborted at
// once, even if it is waiting for its next reply. A client of HTTP/1.1 that closes its side may still read, so it counts
// as disconnected only when a reply cannot be sent to it.
import type { StatusError } from '../aip/errors.ts'
import { asStatusError, cancelled, deadlineExceeded, unavailable } from '../aip/errors.ts'
import type { Corridor, StreamCorridor } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'

/** The reader of a stream, implemented by each door. */
export type StreamClient = {
  /** Begins the response. Returns false if the client has asked only for the headers (HEAD). */
  open(): boolean
  write(reply: Reply, onWritten: () => void): void
  end(): void
  /** Ends the response in such a way that the client cannot mistake it for a complete one. */
  fail(error: StatusError): void
  onDisconnect(listener: () => void): void
}

export type Streams<E> = {
  /** Rejects if the call fails before the response begins. Later errors are sent to the client with `fail`. */
  run(client: StreamClient, ...call: Parameters<Corridor<E>>): Promise<void>
  /** Aborts running and future streams because the server stops. */
  abortAll(): void
}

type Abort = (error: StatusError) => void

/** grpc-js ends a call by a timer, which fires up to 1 ms early by this clock; rounding adds another millisecond. */
const timerToleranceMs = 2

export function openStreams<E>(corridor: StreamCorridor<E>, now: () => number): Streams<E> {
  const running = new Set<Abort>()
  let isStopping = false

  async function run(client: StreamClient, ...call: Parameters<Corridor<E>>): Promise<void> {
    const aborting = new AbortController()
    const replies = corridor(...call, aborting.signal)
    const deadline = now() + call[1].timeout
    let abortedWith: StatusError | undefined
    let stopWaiting = () => {}
    const abort: Abort = (error) => {
      abortedWith ??= error
      aborting.abort(abortedWith)
      stopWaiting()
    }
    const write = (reply: Reply) =>
      new Promise<void>((resolve) => {
        stopWaiting = resolve
        client.write(reply, resolve)
      })

    async function writeAll(first: IteratorResult<Reply, void>): Promise<void> {
      for (let next = first; !next.done; next = await replies.next()) {
        if (!abortedWith) await write(next.value)
        if (abortedWith) await replies.throw(abortedWith)
      }
    }

    client.onDisconnect(() => abort(now() < deadline - timerToleranceMs ? cancelled() : deadlineExceeded()))
    running.add(abort)
    if (isStopping) abort(stopping())
    try {
      const first = await replies.next()
      if (abortedWith) await replies.throw(abortedWith)
      if (!client.open()) return
      await writeAll(first).then(client.end, (thrown) => client.fail(asStatusError(thrown)))
    } finally {
      running.delete(abort)
      await replies.return()
    }
  }

  return {
    run,
    abortAll() {
      isStopping = true
      for (const abort of running) abort(stopping())
    },
  }
}

const stopping = () => unavailable('the server is stopping; try again')
