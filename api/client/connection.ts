import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import type { CallOptions, ConnectionOptions } from './options.ts'
import type { Route } from './route.ts'
import { routeOf } from './route-of.ts'
import { createTransport } from './transport.ts'

/**
 * Calls any RPC by its descriptor, with JSON. For programs that know the services only at run time.
 *
 * @example
 * ```ts
 * import type { Connection } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * async function groupName(connection: Connection, uid: string) {
 *   const { name } = await connection.call(GroupsService.method.getGroup, { uid })
 *   return name
 * }
 * ```
 */
export type Connection = {
  call(method: DescMethod, request: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** Returns the documents of a stream as they arrive. */
  stream(method: DescMethod, request: JsonObject, options?: CallOptions): AsyncGenerator<JsonObject, void>
}

/**
 * Creates a connection, which calls any RPC by its descriptor. No socket is opened until the first call.
 *
 * @example
 * ```ts
 * import { connect } from '@stemma/api'
 * import { AdvisoriesService } from '@stemma/api/platform/vulnerabilities/v2beta1/advisory'
 *
 * const connection = connect({ baseUrl: 'http://localhost:8080', token: 'an access token' })
 * const { exportAdvisoriesOsv } = AdvisoriesService.method
 * for await (const osv of connection.stream(exportAdvisoriesOsv, { query: 'openssl' })) console.log(osv.id)
 * ```
 */
export function connect(options: ConnectionOptions): Connection {
  const transport = createTransport(options)
  const routes = new Map<DescMethod, Route>()

  function cachedRoute(method: DescMethod): Route {
    const route = routes.get(method) ?? routeOf(method)
    routes.set(method, route)
    return route
  }

  return {
    call: (method, request, callOptions) => transport.call(cachedRoute(method), request, callOptions),
    stream: (method, request, callOptions) => transport.stream(cachedRoute(method), request, callOptions),
  }
}
