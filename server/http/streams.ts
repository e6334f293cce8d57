// Answers that are streams: documents go from the corridor to a client one by one, each when the one before it has
// left, so a slow client costs no memory and a client that has gone no work.
import { cancelled, deadlineExceeded, internal, StatusError, unavailable } from '../aip/errors.ts'
import type { StreamCorridor } from '../wire/envelope.ts'
import type { Reply } from '../wire/reply.ts'

/** Whoever reads a stream, as its door sees it. */
export type Client = {
  /** Begins the answer; false where its beginning is all that is wanted. */
  open(): boolean
  write(reply: Reply, onWritten: () => void): void
  end(): void
  /** Ends the answer so that nobody takes it for whole. */
  fail(error: StatusError): void
  onGone(listener: () => void): void
}

export type Streams<E> = {
  /** Fails with what went wrong before the answer began; what goes wrong later is told to the client. */
  run(client: Client, ...call: Parameters<StreamCorridor<E>>): Promise<void>
  /** Breaks off what is running: the server stops. */
  cut(): void
}

type BreakOff = (error: StatusError) => void

export function openStreams<E>(corridor: StreamCorridor<E>): Streams<E> {
  const running = new Set<BreakOff>()
  let isCut = false

  async function run(client: Client, ...call: Parameters<StreamCorridor<E>>): Promise<void> {
    const documents = corridor(...call)
    const deadline = Date.now() + call[1].timeout
    let broken: StatusError | undefined
    let wake = () => {}
    const breakOff: BreakOff = (error) => {
      broken ??= error
      wake()
    }
    const written = (reply: Reply) =>
      new Promise<void>((resolve) => {
        wake = resolve
        client.write(reply, resolve)
      })

    async function pour(first: IteratorResult<Reply, void>): Promise<void> {
      for (let next = first; !next.done; next = await documents.next()) {
        if (!broken) await written(next.value)
        if (broken) await documents.throw(broken)
      }
    }

    client.onGone(() => breakOff(Date.now() < deadline ? cancelled() : deadlineExceeded()))
    running.add(breakOff)
    if (isCut) breakOff(stopping())
    try {
      const first = await documents.next()
      if (broken) await documents.throw(broken)
      if (!client.open()) return
      await pour(first).then(client.end, (thrown: unknown) =>
        client.fail(thrown instanceof StatusError ? thrown : internal(thrown)),
      )
    } finally {
      running.delete(breakOff)
      await documents.return()
    }
  }

  return {
    run,
    cut() {
      isCut = true
      for (const breakOff of running) breakOff(stopping())
    },
  }
}

const stopping = () => unavailable('the server is stopping; try again')
