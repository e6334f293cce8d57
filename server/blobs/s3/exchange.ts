// One HTTP request and its response. Uses node:http instead of fetch, whose timeouts cannot
// distinguish a silent server from a slow reader.
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Readable } from 'node:stream'
import { BlobError } from '../blob-error.ts'
import type { S3Limits } from './s3-options.ts'

/** A body that can be sent again: `open` is called for each try. */
export type RequestBody = { bytes: number; open(): Readable }

export type ExchangeRequest = {
  method: string
  url: URL
  headers: Record<string, string>
  body?: RequestBody | string | undefined
  idleTimeoutMs: number
  signal?: AbortSignal | undefined
}

export type Exchange = {
  send(request: ExchangeRequest): Promise<IncomingMessage>
  close(): void
}

export function makeExchange({
  maxSockets,
  maxWaitMs,
}: Pick<S3Limits, 'maxSockets' | 'maxWaitMs'>): Exchange {
  const options = { keepAlive: true, maxSockets, maxFreeSockets: 16 }
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  return {
    send: (request) =>
      request.url.protocol === 'https:'
        ? send(requestHttps, agents.https, request, maxWaitMs)
        : send(requestHttp, agents.http, request, maxWaitMs),
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

function send(
  startRequest: typeof requestHttp,
  agent: HttpAgent,
  { method, url, headers, body, idleTimeoutMs, signal }: ExchangeRequest,
  maxWaitMs: number,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : (body?.bytes ?? 0)
    const withLength = length > 0 || method === 'PUT' || method === 'POST'
    const sent = withLength ? { ...headers, 'content-length': String(length) } : headers
    const source = typeof body === 'object' ? body.open() : undefined
    const request = startRequest(url, { method, headers: sent, agent, timeout: idleTimeoutMs, signal })
    let response: IncomingMessage | undefined
    request.on('response', (received) => {
      response = received
      resolve(received)
    })
    const onTimeout = () => {
      // A response with unread bytes waits for its reader, not for the server. node:http reports only the first timeout.
      if (response && response.readableLength > 0) request.socket?.setTimeout(idleTimeoutMs, onTimeout)
      else request.destroy(new Error(`no answer within ${idleTimeoutMs} ms`))
    }
    request.on('timeout', onTimeout)
    // `timeout` counts only from the time at which the request has a socket.
    const waiting = setTimeout(() => {
      const error = new BlobError('unavailable', 'too many requests to the storage for content are running')
      request.destroy(error)
      source?.destroy()
      reject(error) // node:http reports the error only when a socket is free
    }, maxWaitMs)
    request.once('socket', () => clearTimeout(waiting))
    request.on('error', reject)
    request.on('close', () => {
      clearTimeout(waiting)
      source?.destroy()
      request.socket?.off('timeout', onTimeout) // another request may use the socket
    })
    if (!source) request.end(typeof body === 'string' ? body : undefined)
    else source.on('error', (error) => request.destroy(error)).pipe(request)
  })
}

/** Reads a response of limited size as text. */
export async function readText(response: IncomingMessage, maxBytes = 4 * 1024 * 1024): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
