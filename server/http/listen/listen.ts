// One port for everything: HTTP/2 carries gRPC, HTTP/1.1 carries REST and all other paths.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { DoorOptions } from '../door.ts'
import { bindAll, portOf } from './bind.ts'
import type { ConnectionLimits } from './connection-counter.ts'
import { openConnectionCounter } from './connection-counter.ts'
import { openConnectionStates } from './connection-state.ts'
import type { Connections, Tls } from './connections.ts'
import { createPlainServer, createSecureServer } from './connections.ts'
import { openHttp1 } from './http1.ts'
import type { Limits } from './limits.ts'
import { defaultLimits, maxUnsentBytes, minBytesPerSecond } from './limits.ts'
import type { Penalties } from './penalties.ts'
import { openRefusals } from './refuse-connection.ts'
import { openSlowReaders } from './slow-readers.ts'

export type ListenOptions = Omit<DoorOptions, 'addressOf'> & {
  port: number
  hosts: readonly string[]
  tls: Tls | undefined
  onRequest(request: IncomingMessage, response: ServerResponse): void
  /** Takes over an HTTP/2 connection. */
  onHttp2(socket: Duplex): void
  limits?: Partial<Limits>
  penalties: Penalties
  maxConnections: ConnectionLimits
  isProxy(address: string): boolean
  now(): number
}

export type Listener = {
  port: number
  /** Accepts no new connections and closes idle ones; resolves when the last is closed. */
  drain(): Promise<void>
  /** Closes all remaining connections. */
  destroy(): void
}

/** How often a draining listener closes the connections that have become idle, in milliseconds. */
const drainInterval = 100

export async function listen(options: ListenOptions): Promise<Listener> {
  const { port, hosts, tls, onHttp2, penalties, maxConnections, isProxy, now } = options
  const limits = { ...defaultLimits, ...options.limits }
  const stateOf = openConnectionStates()
  const onAbuse = ({ remoteAddress }: Socket) => penalties.add(remoteAddress)
  const slowReaders = openSlowReaders({ minBytesPerSecond, maxUnsentBytes, graceMs: limits.idle, now })
  const readersInterval = setInterval(slowReaders.check, limits.checkInterval).unref()
  const connections: Connections = {
    http1: openHttp1({ ...options, limits, stateOf, onAbuse }),
    ...{ onHttp2, penalties, stateOf, slowReaders },
    counter: openConnectionCounter({ ...maxConnections, isProxy }),
    refuse: openRefusals({ ...options, lingerMs: limits.linger }, tls !== undefined),
    firstBytesMs: limits.firstBytes,
    open: new Set(),
    undetected: new Set(),
  }
  const createServer = () => (tls ? createSecureServer(connections, tls) : createPlainServer(connections))
  const servers = await bindAll(createServer, hosts, port)
  return {
    port: portOf(servers[0]) ?? port,
    drain: () => drain(servers, connections, limits.firstBytesAtStop),
    destroy() {
      clearInterval(readersInterval)
      for (const socket of connections.open) socket.destroy()
      connections.http1.close()
    },
  }
}

async function drain(
  servers: readonly Server[],
  { http1, undetected }: Connections,
  firstBytesMs: number,
): Promise<void> {
  // After the next poll of the event loop, all clients that have connected so far are accepted.
  await new Promise((resolve) => setImmediate(resolve))
  const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
  const closeInterval = setInterval(() => http1.closeIdleConnections(), drainInterval)
  const disconnectTimer = setTimeout(() => {
    for (const socket of undetected) socket.destroy()
  }, firstBytesMs)
  http1.closeIdleConnections()
  await Promise.all(closed)
  clearInterval(closeInterval)
  clearTimeout(disconnectTimer)
}
