// Registers every service of the contract with grpc-js, under all its names.
import type { Server, ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js'
import type { Method } from '@stemma/api/method.ts'
import { serviceNames } from '../aliases.ts'
import type { Endpoint } from '../door.ts'
import type { HandlerOptions } from './handlers.ts'
import { streamHandler, unaryHandler } from './handlers.ts'

export type ServiceOptions<E extends Endpoint> = HandlerOptions<E> & {
  endpoints: readonly E[]
  /** Prefixes that clients may put before the name of a service. */
  vendorPrefixes: readonly string[]
}

/** Returns the methods by their paths. */
export function addServices<E extends Endpoint>(
  server: Server,
  options: ServiceOptions<E>,
): Map<string, Method> {
  const methods = new Map<string, Method>()
  const byService = Map.groupBy(options.endpoints, ({ method }) => method.desc.parent)
  for (const [{ typeName }, endpoints] of byService) {
    const handlers = endpoints.map((endpoint): [string, UntypedHandleCall] => [
      endpoint.method.desc.name,
      endpoint.method.isStream ? streamHandler(endpoint, options) : unaryHandler(endpoint, options),
    ])
    for (const service of serviceNames(typeName, options.vendorPrefixes)) {
      const definitions = endpoints.map(({ method }) => [method.desc.name, definitionOf(service, method)])
      server.addService(Object.fromEntries(definitions) as ServiceDefinition, Object.fromEntries(handlers))
      for (const { method } of endpoints) methods.set(pathOf(service, method), method)
    }
  }
  return methods
}

const pathOf = (service: string, { desc }: Method) => `/${service}/${desc.name}`

const passBytes = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function definitionOf(service: string, method: Method) {
  return {
    path: pathOf(service, method),
    originalName: method.desc.localName,
    requestStream: false,
    responseStream: method.isStream,
    requestSerialize: passBytes,
    requestDeserialize: passBytes,
    responseSerialize: passBytes,
    responseDeserialize: passBytes,
  }
}
