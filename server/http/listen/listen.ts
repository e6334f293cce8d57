// One port for everything: HTTP/2 carries gRPC, HTTP/1.1 carries REST and all other paths.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DoorOptions } from '../door.ts'
import type { KnownNetworks } from '../turns/known-networks.ts'
import type { Turns } from '../turns/turns.ts'
import { bindAll, portOf } from './bind.ts'
import type { ConnectionLimits } from './connection-counter.ts'
import { openConnectionCounter } from './connection-counter.ts'
import { isUnsent, openConnectionStates } from './connection-state.ts'
import type { Connections, Tls } from './connections.ts'
import { createPlainServer, createSecureServer } from './connections.ts'
import { openHttp1 } from './http1.ts'
import { openIdleConnections } from './idle-connections.ts'
import { acceptsPerTurn, maxUnsentHttp1Bytes, minBytesPerSecond } from './limits.ts'
import { openPacedTurns } from './paced-turns.ts'
import type { Penalties } from './penalties.ts'
import { openRefusals } from './refuse-connection.ts'
import { openSlowReaders } from './slow-readers.ts'
import type { TimeoutsMs } from './timeouts.ts'
import { defaultTimeoutsMs } from './timeouts.ts'

export type ListenOptions = Omit<DoorOptions, 'addressOf'> & {
  port: number
  /** Whether other threads listen on the same port. */
  sharesPort?: boolean
  hosts: readonly string[]
  tls: Tls | undefined
  onRequest(request: IncomingMessage, response: ServerResponse): void
  /** Takes over an HTTP/2 connection. */
  onHttp2(socket: Duplex): void
  timeoutsMs?: Partial<TimeoutsMs>
  penalties: Penalties
  maxConnections: ConnectionLimits
  isProxy(address: string): boolean
  turns: Turns
  knownNetworks: KnownNetworks
  now(): number
  /** Monotonic, in milliseconds. */
  clock(): number
}

export type Listener = {
  port: number
  /** Accepts no new connections and closes idle ones; resolves when the last is closed. */
  drain(): Promise<void>
  /** Closes all remaining connections. */
  destroy(): void
}

/** How often a draining listener closes the connections that have become idle, in milliseconds. */
const drainIntervalMs = 100

export async function listen(options: ListenOptions): Promise<Listener> {
  const {
    port,
    sharesPort = false,
    hosts,
    tls,
    onHttp2,
    penalties,
    maxConnections,
    isProxy,
    turns,
    knownNetworks,
    now,
    clock,
  } = options
  const timeoutsMs = { ...defaultTimeoutsMs, ...options.timeoutsMs }
  const stateOf = openConnectionStates()
  const onAbuse = ({ remoteAddress }: Socket) => penalties.add(remoteAddress)
  const slowReaders = openSlowReaders({
    minBytesPerSecond,
    maxUnsentBytes: maxUnsentHttp1Bytes,
    graceMs: timeoutsMs.idle,
    now,
  })
  const { keepAlive: keepAliveMs, idle: idleMs } = timeoutsMs
  const idle = openIdleConnections<Socket>({ keepAliveMs, idleMs, now }, (socket) =>
    isUnsent(stateOf(socket).latestResponse),
  )
  const checkConnections = () => {
    slowReaders.check()
    idle.check()
  }
  const checkInterval = setInterval(checkConnections, timeoutsMs.checkInterval).unref()
  const pacedTurns = openPacedTurns(clock)
  const connections: Connections = {
    http1: openHttp1({ ...options, timeoutsMs, stateOf, pacedTurns, onAbuse }),
    ...{ onHttp2, penalties, stateOf, pacedTurns, turns, knownNetworks, slowReaders, idle },
    counter: openConnectionCounter({ ...maxConnections, isProxy }),
    refuse: openRefusals({ ...options, lingerMs: timeoutsMs.linger }, tls !== undefined),
    firstBytesMs: timeoutsMs.firstBytes,
    open: new Set(),
    undetected: new Set(),
  }
  const createServer = () => (tls ? createSecureServer(connections, tls) : createPlainServer(connections))
  const servers = await bindAll(createServer, hosts, { port, sharesPort, acceptsPerTurn })
  return {
    port: portOf(servers[0]) ?? port,
    drain: () => drain(servers, connections, timeoutsMs.firstBytesAtStop),
    destroy() {
      clearInterval(checkInterval)
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
  await acceptWaiting(servers)
  const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
  const closeInterval = setInterval(() => http1.closeIdleConnections(), drainIntervalMs)
  const disconnectTimer = setTimeout(() => {
    for (const socket of undetected) socket.destroy()
  }, firstBytesMs)
  http1.closeIdleConnections()
  await Promise.all(closed)
  clearInterval(closeInterval)
  clearTimeout(disconnectTimer)
}

/** Limits how long clients that connect again and again delay the drain. */
const maxAcceptTurns = 128

/**
 * Accepts the clients that have connected already. Each turn of the event loop accepts up to
 * `acceptsPerTurn` on each host, so this waits until a turn accepts none.
 */
async function acceptWaiting(servers: readonly Server[]): Promise<void> {
  let accepted = 0
  const count = () => accepted++
  for (const server of servers) server.on('connection', count)
  // This turn of the event loop may be past the point where connections are accepted.
  await nextTurn()
  for (let turn = 0, before = -1; turn < maxAcceptTurns && accepted > before; turn++) {
    before = accepted
    await nextTurn()
  }
  for (const server of servers) server.off('connection', count)
}
