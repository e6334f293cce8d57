// HTTP servers with scripted responses, for tests of the SDK. They imitate a Stemma server or a proxy,
// including failures.
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

type ScriptedServer = { url: string; requests: IncomingMessage[]; server: Server }

/** To be called in a suite. After each test, the servers in `servers` are stopped. */
export function serversOfSuite() {
  const servers: Server[] = []
  afterEach(() => servers.splice(0).forEach(stop))
  return {
    servers,
    async start(...listeners: RequestListener[]): Promise<ScriptedServer> {
      const started = await startScriptedServer(...listeners)
      servers.push(started.server)
      return started
    },
  }
}

/** Starts a server that calls the next listener for each request, and the last listener for all further requests. */
async function startScriptedServer(...listeners: RequestListener[]): Promise<ScriptedServer> {
  const requests: IncomingMessage[] = []
  const server = await listen((request, response) => {
    requests.push(request)
    listeners[Math.min(requests.length, listeners.length) - 1]?.(request, response)
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, server }
}

export async function listen(listener: RequestListener, port = 0): Promise<Server> {
  const server = createServer({ keepAlive: false }, listener)
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return server
}

function stop(server: Server): void {
  server.closeAllConnections()
  server.close()
}

export const sendJson =
  (body: unknown, status = 200, headers = {}): RequestListener =>
  (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))

export const sendUnavailable = (headers = {}) =>
  sendJson({ code: 14, message: 'Unavailable: busy', details: [] }, 503, headers)

export const resetConnection: RequestListener = (request) => void request.socket.resetAndDestroy()

export const neverAnswer: RequestListener = () => undefined

/** Sends the chunks of a stream one by one and ends it. */
export const sendChunks =
  (...chunks: (string | Buffer)[]) =>
  async (_: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'application/jsonl' })
    for (const chunk of chunks) {
      response.write(chunk)
      await sleep(5)
    }
    response.end()
  }

/** Sends the beginning of a stream and keeps the connection open. */
export const sendBeginning =
  (text: string): RequestListener =>
  (_, response) =>
    void response.write(text)
