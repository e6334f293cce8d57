// The gRPC paths and their methods. A method has one path for each name of its service. Methods
// whose response is a stream are registered with grpc-js.
import type { Server, ServiceDefinition } from '@grpc/grpc-js'
import type { Method } from '@stemma/api/method.ts'
import { serviceNames } from '../aliases.ts'
import type { Endpoint } from '../door.ts'
import type { StreamHandlerOptions } from './stream-calls.ts'
import { streamHandler } from './stream-calls.ts'
import type { AnswerCall, UnaryOptions } from './unary-calls.ts'
import { answerUnary } from './unary-calls.ts'

export type ServiceOptions<E extends Endpoint> = StreamHandlerOptions<E> &
  UnaryOptions<E> & {
    endpoints: readonly E[]
    /** Prefixes that clients may put before the name of a service. */
    vendorPrefixes: readonly string[]
  }

/** A method, and the function that answers its calls; undefined if grpc-js answers them. */
export type Route = { method: Method; answer: AnswerCall | undefined }

export function openRoutes<E extends Endpoint>(
  server: Server,
  options: ServiceOptions<E>,
): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>()
  for (const endpoint of options.endpoints) {
    const { method } = endpoint
    const answer = method.isStream ? undefined : answerUnary(endpoint, options)
    for (const service of serviceNames(method.desc.parent.typeName, options.vendorPrefixes)) {
      const path = pathOf(service, method)
      routes.set(path, { method, answer })
      if (method.isStream) addStream(server, path, method, streamHandler(endpoint, options))
    }
  }
  return routes
}

const pathOf = (service: string, { desc }: Method) => `/${service}/${desc.name}`

const passBytes = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function addStream(
  server: Server,
  path: string,
  { desc }: Method,
  handler: ReturnType<typeof streamHandler>,
): void {
  const definition: ServiceDefinition = {
    [desc.name]: {
      path,
      originalName: desc.localName,
      requestStream: false,
      responseStream: true,
      requestSerialize: passBytes,
      requestDeserialize: passBytes,
      responseSerialize: passBytes,
      responseDeserialize: passBytes,
    },
  }
  server.addService(definition, { [desc.name]: handler })
}
