// A sink for tests: an HTTP server that keeps the requests it gets, and answers as the test wants.
import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { testTls } from '../../server/testing/tls.ts'

export type Received = { method: string; headers: IncomingHttpHeaders; body: string }

export type Answer = (response: ServerResponse, request: Received) => void

export type Sink = {
  url: string
  /** The requests with events, without handshakes. */
  events: Received[]
  handshakes: Received[]
  /** `WebHook-Allowed-Rate` in the answer to a handshake. */
  allowedRate?: string
  /** Replaces the usual answer to a handshake. */
  answerHandshake?: Answer
  answer: Answer
  /** Resolves when this many events have arrived. */
  until(count: number): Promise<void>
  close(): void
}

export const answerWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (response) =>
    response.writeHead(status, headers).end(body)

export async function openSink(answer: Answer = answerWith(204), isHttps = false): Promise<Sink> {
  let notify = () => {}
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', headers } = request
    const received = { method, headers, body: Buffer.concat(chunks).toString() }
    if (method === 'OPTIONS') {
      sink.handshakes.push(received)
      const { allowedRate, answerHandshake } = sink
      if (answerHandshake) answerHandshake(response, received)
      else response.writeHead(204, allowedRate ? { 'webhook-allowed-rate': allowedRate } : {}).end()
      return
    }
    sink.events.push(received)
    notify()
    sink.answer(response, received)
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch(() => response.destroy())
  }
  const server = isHttps ? createTlsServer(testTls, onRequest) : createServer(onRequest)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const sink: Sink = {
    url: `${isHttps ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    ...{ events: [], handshakes: [], answer },
    async until(count) {
      while (sink.events.length < count)
        await new Promise<void>((resolve) => {
          notify = resolve
        })
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  return sink
}
