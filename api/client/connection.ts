// Calls to a server as JSON, by the descriptors of the contract.
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { routeOf } from './route-of.ts'
import type { CallOptions, ConnectionOptions } from './transport.ts'
import { openTransport } from './transport.ts'

export type Connection = {
  ask(method: DescMethod, request: JsonObject, options?: CallOptions): Promise<JsonObject>
  /** The documents of a stream as they come. */
  read(method: DescMethod, request: JsonObject, options?: CallOptions): AsyncGenerator<JsonObject, void>
}

export function connect(options: ConnectionOptions): Connection {
  const { ask, read } = openTransport(options)
  return {
    ask: (method, request, callOptions) => ask(routeOf(method), request, callOptions),
    read: (method, request, callOptions) => read(routeOf(method), request, callOptions),
  }
}
