// Binds one port on every host.
import type { ListenOptions, Server } from 'node:net'

export type PortOptions = {
  port: number
  /** Whether other threads listen on the same port. The system then distributes the connections (SO_REUSEPORT). */
  reusePort: boolean
}

/**
 * Binds all hosts to the same port; if one fails, throws and binds none. A host after the first is skipped if this
 * machine does not have its address: `localhost` means an IPv4 and an IPv6 address, and a machine may lack one of them.
 */
export async function bindAll(
  createServer: () => Server,
  hosts: readonly string[],
  { port, reusePort }: PortOptions,
): Promise<Server[]> {
  const servers: Server[] = []
  try {
    for (const host of hosts) {
      const server = createServer()
      const address = { host, port: portOf(servers[0]) ?? port, reusePort }
      const isBound = await bind(server, address, servers.length > 0)
      if (isBound) servers.push(server)
    }
  } catch (error) {
    for (const server of servers) server.close()
    throw error
  }
  return servers
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
