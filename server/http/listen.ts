// One port for everything: a connection's first bytes (or ALPN, under TLS) tell HTTP/2, which carries gRPC,
// from HTTP/1.1, which carries the rest.
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import type { OnStray } from './door.ts'
import { peek } from './peek.ts'
import { openRefuser } from './refuse.ts'

export type ListenOptions = {
  port: number
  hosts: readonly string[]
  tls: { cert: string; key: string } | undefined
  onRequest(request: IncomingMessage, response: ServerResponse): void
  /** Takes over a connection that speaks HTTP/2. */
  onHttp2(socket: Duplex): void
  errorDomain: string
  onStray: OnStray
  limits?: Partial<Limits>
}

/** In milliseconds: how long a client may take. */
export type Limits = {
  /** To say what it speaks, and to shake hands. */
  firstBytes: number
  headers: number
  /** To send a request whole. */
  request: number
  /** To send the next request. */
  keepAlive: number
  /** To take any of an answer, or to send anything. Longer than any call may take. */
  stall: number
  /** To stop sending after a refusal. */
  linger: number
  /** How often slow requests are looked for. */
  checkEvery: number
  /** To say its first words to a server that is about to stop. */
  lastWords: number
}

export const usualLimits: Limits = {
  firstBytes: 10_000,
  headers: 10_000,
  request: 60_000,
  keepAlive: 65_000,
  stall: 120_000,
  linger: 5_000,
  checkEvery: 2_000,
  lastWords: 1_000,
}

const largestHeaders = 16 * 1024
/** The part of a URL that is read before it is refused; more counts as headers. */
const largestUrl = 8 * 1024

export type Listener = {
  port: number
  /** Takes no new connections and ends those that are idle; resolves when the last has ended. */
  drain(): Promise<void>
  /** Ends what is left. */
  destroy(): void
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const { port, hosts, tls, onHttp2 } = options
  const limits = { ...usualLimits, ...options.limits }
  const sockets = new Set<Socket>()
  const unknown = new Set<Socket>()
  const http = openHttp(options, limits)

  function track(socket: Socket): void {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setNoDelay(true)
  }

  function findOut(socket: Socket): void {
    unknown.add(socket)
    socket.on('close', () => unknown.delete(socket))
    peek(socket, limits.firstBytes, (isHttp2) => {
      unknown.delete(socket)
      if (isHttp2 && !tls) passToHttp2(socket)
      else {
        http.emit('connection', socket)
        socket.resume()
      }
    })
  }

  function passToHttp2(socket: Socket): void {
    // HTTP/2 knows no half-open connections.
    socket.allowHalfOpen = false
    onHttp2(socket)
  }

  function makeServer(): Server {
    if (!tls) {
      // A client may end its side and still wait for the answer.
      return createServer({ allowHalfOpen: true }, (socket) => {
        track(socket)
        findOut(socket)
      })
    }
    const server = createTlsServer({
      ...tls,
      // A client that offers both gets HTTP/1.1: only gRPC is served over HTTP/2.
      ALPNProtocols: ['http/1.1', 'h2'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: limits.firstBytes,
    })
    server.on('connection', track)
    server.on('tlsClientError', (_, socket) => socket.destroy())
    server.on('secureConnection', (socket) => {
      socket.on('error', () => socket.destroy())
      if (socket.alpnProtocol === 'h2') passToHttp2(socket)
      else findOut(socket)
    })
    return server
  }

  const servers = await bindAll(makeServer, hosts, port)
  return {
    port: portOf(servers[0]) ?? port,
    async drain() {
      // Right after a poll, when whoever has connected so far is known.
      await new Promise((resolve) => setImmediate(resolve))
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
      const sweep = setInterval(() => http.closeIdleConnections(), 100)
      const hangUp = setTimeout(() => {
        for (const socket of unknown) socket.destroy()
      }, limits.lastWords)
      http.closeIdleConnections()
      await Promise.all(closed)
      clearInterval(sweep)
      clearTimeout(hangUp)
    },
    destroy() {
      for (const socket of sockets) socket.destroy()
      http.close()
    },
  }
}

function openHttp(
  { onRequest, errorDomain, onStray }: ListenOptions,
  { headers, request, keepAlive, stall, linger, checkEvery }: Limits,
): HttpServer {
  const http = createHttpServer({
    maxHeaderSize: largestHeaders + largestUrl,
    headersTimeout: headers,
    requestTimeout: request,
    keepAliveTimeout: keepAlive,
    connectionsCheckingInterval: checkEvery,
    requireHostHeader: false,
    // What announces no body has ended before anybody reads it.
    optimizeEmptyRequests: true,
  })
  const refuser = openRefuser({ errorDomain, linger, onStray })
  const handle = (incoming: IncomingMessage, response: ServerResponse) => {
    refuser.onRequest(incoming, response)
    onRequest(incoming, response)
  }
  http.timeout = stall
  http.on('request', handle)
  // Whoever reads the body invites it; nobody invites one that will be refused.
  http.on('checkContinue', handle)
  http.on('checkExpectation', handle)
  http.on('clientError', refuser.onClientError)
  http.on('connect', refuser.onConnect)
  // Known to node:http and not to its types: a client that has ended its side still gets its answer.
  Object.assign(http, { httpAllowHalfOpen: true })
  // It never listens itself; this starts the clock that enforces its timeouts.
  http.emit('listening')
  return http
}

/** All or nothing, and the same port on each; but `localhost` means two addresses, of which a machine may have one. */
async function bindAll(makeServer: () => Server, hosts: readonly string[], port: number): Promise<Server[]> {
  const servers: Server[] = []
  try {
    for (const host of hosts) {
      const server = makeServer()
      const isThere = await bind(server, portOf(servers[0]) ?? port, host, servers.length > 0)
      if (isThere) servers.push(server)
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return servers
}

function portOf(server: Server | undefined): number | undefined {
  const address = server?.address()
  return typeof address === 'object' && address ? address.port : undefined
}

function bind(server: Server, port: number, host: string, isExtra: boolean): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // Stays when the server listens: a connection that cannot be taken must not end the others.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'
      if (isExtra && isMissing) resolve(false)
      else reject(error)
    })
    server.listen({ port, host, backlog: 1024 }, () => resolve(true))
  })
}
