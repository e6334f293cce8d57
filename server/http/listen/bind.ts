// Binds one port on every host.
import type { ListenOptions, Server } from 'node:net'
import { createServer as createProbe } from 'node:net'

export type PortOptions = {
  port: number
  /** Whether other threads listen on the same port. The system then distributes the connections (SO_REUSEPORT). */
  sharesPort: boolean
  /**
   * How many connections are accepted in one turn of the event loop. Only on Linux; elsewhere one. A listening socket
   * accepts one connection in a turn, so while the server is busy, a single socket would let new connections wait for
   * many turns.
   */
  acceptsPerTurn: number
}

/**
 * Binds all hosts to the same port; if one fails, throws and binds none. A host after the first is skipped if this
 * machine does not have its address: `localhost` means an IPv4 and an IPv6 address, and a machine may lack one of them.
 */
export async function bindAll(
  createServer: () => Server,
  hosts: readonly string[],
  options: PortOptions,
): Promise<Server[]> {
  const servers: Server[] = []
  try {
    for (const host of hosts) {
      const isOptional = servers.length > 0
      const port = portOf(servers[0]) ?? options.port
      servers.push(...(await bindHost(createServer, { ...options, port, host, isOptional })))
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return servers
}

type HostOptions = PortOptions & { host: string; isOptional: boolean }

async function bindHost(createServer: () => Server, options: HostOptions): Promise<Server[]> {
  const { host, sharesPort, isOptional } = options
  const socketCount = process.platform === 'linux' ? options.acceptsPerTurn : 1
  const reusePort = sharesPort || socketCount > 1
  let { port } = options
  const servers: Server[] = []
  try {
    if (reusePort && !sharesPort) port = await requireUnusedPort(host, port, isOptional)
    while (servers.length < socketCount) {
      const server = createServer()
      if (!(await bind(server, { host, port, reusePort }, isOptional))) break
      servers.push(server)
      port = portOf(server) ?? port
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return servers
}

/**
 * Throws if another server listens on the port. Binding with `reusePort` could succeed nevertheless.
 * Returns a free port for port 0.
 */
async function requireUnusedPort(host: string, port: number, isOptional: boolean): Promise<number> {
  const probe = createProbe()
  const isBound = await bind(probe, { host, port, reusePort: false }, isOptional)
  const bound = portOf(probe) ?? port
  if (isBound) await new Promise((resolve) => probe.close(resolve))
  return bound
}

export function portOf(server: Server | undefined): number | undefined {
  const address = server?.address()
  return typeof address === 'object' && address ? address.port : undefined
}

/** Returns false if the host is optional and this machine does not have its address. */
function bind(server: Server, address: ListenOptions, isOptional: boolean): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // This listener is never removed: without it, a later error in accepting a connection would end the process.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'
      if (isOptional && isMissing) resolve(false)
      else reject(error)
    })
    server.listen({ ...address, backlog: 1024 }, () => resolve(true))
  })
}
