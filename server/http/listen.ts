// One port for everything: a connection's first bytes (or ALPN, under TLS) tell HTTP/2, which carries gRPC,
// from HTTP/1.1, which carries the rest.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'

export type ListenOptions = {
  port: number
  hosts: readonly string[]
  tls: { cert: string; key: string } | undefined
  onRequest(request: IncomingMessage, response: ServerResponse): void
  /** Takes over a connection that speaks HTTP/2. */
  onHttp2(socket: Duplex): void
}

export type Listener = {
  port: number
  /** Takes no new connections and ends those that are idle; resolves when the last has ended. */
  drain(): Promise<void>
  /** Ends what is left. */
  destroy(): void
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const firstBytesTimeout = 10_000

export async function listen({ port, hosts, tls, onRequest, onHttp2 }: ListenOptions): Promise<Listener> {
  const sockets = new Set<Socket>()
  const http = createHttpServer(
    {
      maxHeaderSize: 24 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 2_000,
      requireHostHeader: false,
    },
    onRequest,
  )
  http.on('clientError', refuse)
  // It never listens itself; this starts the clock that enforces its timeouts.
  http.emit('listening')

  function accept(socket: Socket): void {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setNoDelay(true)
    if (!tls) peek(socket)
  }

  function peek(socket: Socket): void {
    const timer = setTimeout(() => socket.destroy(), firstBytesTimeout)
    let seen: Buffer = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
      const compared = Math.min(seen.length, preface.length)
      const isHttp2 = seen.subarray(0, compared).equals(preface.subarray(0, compared))
      if (isHttp2 && compared < preface.length) return
      clearTimeout(timer)
      socket.off('data', onData)
      socket.pause()
      socket.unshift(seen)
      if (isHttp2) onHttp2(socket)
      else {
        http.emit('connection', socket)
        socket.resume()
      }
    }
    socket.on('data', onData)
    socket.on('close', () => clearTimeout(timer))
  }

  function makeServer(): Server {
    if (!tls) return createServer({ pauseOnConnect: false }, accept)
    const server = createTlsServer({
      ...tls,
      // A client that offers both gets HTTP/1.1: only gRPC is served over HTTP/2.
      ALPNProtocols: ['http/1.1', 'h2'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: firstBytesTimeout,
    })
    server.on('connection', accept)
    server.on('secureConnection', (socket) => {
      socket.on('error', () => socket.destroy())
      if (socket.alpnProtocol === 'h2') onHttp2(socket)
      else http.emit('connection', socket)
    })
    return server
  }

  const servers: Server[] = []
  let bound = port
  for (const host of hosts) {
    const server = makeServer()
    const isThere = await bind(server, bound, host, servers.length > 0)
    if (!isThere) continue
    servers.push(server)
    const address = server.address()
    if (typeof address === 'object' && address) bound = address.port
  }

  return {
    port: bound,
    async drain() {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
      http.closeIdleConnections()
      const sweep = setInterval(() => http.closeIdleConnections(), 100)
      await Promise.all(closed)
      clearInterval(sweep)
    },
    destroy() {
      for (const socket of sockets) socket.destroy()
      http.close()
    },
  }
}

/** `localhost` means two addresses, of which a machine without IPv6 has one. */
function bind(server: Server, port: number, host: string, isExtra: boolean): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'
      if (isExtra && isMissing) resolve(false)
      else reject(error)
    })
    server.listen({ port, host, backlog: 1024 }, () => resolve(true))
  })
}

const refusals: Record<string, [status: string, code: number, text: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    8,
    'Resource exhausted: the headers are too large',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    '408 Request Timeout',
    4,
    'Deadline exceeded: the request took too long to arrive',
  ],
}

/** What cannot even be read as HTTP. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, code, message] = refusals[error.code ?? ''] ?? [
    '400 Bad Request',
    3,
    'Invalid argument: this is not well-formed HTTP',
  ]
  const body = JSON.stringify({ code, message, details: [] })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
