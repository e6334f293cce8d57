import type { ClientRequest, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

export type OutboundRequest = {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
}

/**
 * Sends a request to one address of the URL's host. Redirects are not followed. `connectTimeoutMs` limits only the time
 * until the TCP connection is open.
 */
export function sendRequest(
  url: URL,
  address: string,
  { method = 'GET', headers, body }: OutboundRequest,
  signal: AbortSignal,
  connectTimeoutMs?: number,
): Promise<IncomingMessage> {
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const options = {
    ...{ host: address, port: url.port || undefined, path: url.pathname + url.search, method },
    ...{ agent: false as const, signal },
    headers: { accept: 'application/json', ...headers, host: url.host, 'user-agent': 'stemma' },
    // The certificate must match the host name, not the address.
    ...(isIP(hostname) ? {} : { servername: hostname }),
  }
  return new Promise((resolve, reject) => {
    // Not imported, because an import of node:http loads undici, which is not used here.
    const client = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
    const request = client.request(options, resolve)
    request.on('error', reject)
    if (connectTimeoutMs !== undefined) limitConnecting(request, connectTimeoutMs)
    request.on('upgrade', (_, socket) => socket.destroy())
    // Rejects if the connection closes without a response, for example after an upgrade. After a response, the promise
    // is resolved already, so this has no effect.
    request.on('close', () => reject(new Error('the connection was closed without a response')))
    request.end(body)
  })
}

function limitConnecting(request: ClientRequest, timeoutMs: number): void {
  const timer = setTimeout(
    () => request.destroy(new Error(`no connection within ${timeoutMs} ms`)),
    timeoutMs,
  )
  const stop = () => clearTimeout(timer)
  request.on('socket', (socket) => socket.on('connect', stop))
  request.on('close', stop)
}
