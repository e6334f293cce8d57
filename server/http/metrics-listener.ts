// Serves /metrics on a port of its own, which clients of the API need not be able to reach.
import type { Server } from 'node:http'
import { bindAll, portOf } from './listen/bind.ts'
import { createServer } from './node-http.ts'
import type { PlainOptions, PlainPaths } from './plain-paths.ts'
import { sendPlain, textResponse } from './plain-paths.ts'
import { splitTarget } from './target.ts'

export type MetricsListener = { port: number; close(): void }

export type MetricsOptions = PlainOptions & {
  port: number
  hosts: readonly string[]
}

/** Monitoring needs few connections. The limits keep idle clients from occupying memory. */
const maxConnections = 20
const limits = {
  ...{
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 5000,
    connectionsCheckingInterval: 1000,
  },
  maxHeaderSize: 8 * 1024,
}

export async function listenForMetrics(options: MetricsOptions, paths: PlainPaths): Promise<MetricsListener> {
  const notFound = () => textResponse(404, 'this port serves only /metrics\n')
  const servers: Server[] = []
  const createMetricsServer = () => {
    const server = createServer(limits, (request, response) => {
      const { path } = splitTarget(request.url ?? '')
      const respond = Object.hasOwn(paths, path) ? paths[path] : undefined
      void sendPlain(() => (respond ?? notFound)(''), request, response, options)
    })
    server.maxConnections = maxConnections
    servers.push(server)
    return server
  }
  const [first] = await bindAll(createMetricsServer, options.hosts, {
    port: options.port,
    sharesPort: false,
    acceptsPerTurn: 1,
  })
  return {
    port: portOf(first) ?? options.port,
    close() {
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}
