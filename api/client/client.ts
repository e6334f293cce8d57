// Clients with protobuf messages, typed by the descriptors of services.
import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  JsonObject,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import { create, fromJson, toJson } from '@bufbuild/protobuf'
import type { Struct } from '@bufbuild/protobuf/wkt'
import { Code } from '../gen/google/rpc/code_pb.ts'
import type { CallOptions, ConnectionOptions } from './options.ts'
import type { Route } from './route.ts'
import { routeOf } from './route-of.ts'
import { invalidArgument, StemmaError } from './stemma-error.ts'
import type { Transport } from './transport.ts'
import { createTransport } from './transport.ts'

/**
 * The type in which a client returns a response message. A `Struct` contains a document of another format, such as
 * OSV, and is returned as plain JSON.
 *
 * @example
 * ```ts
 * import type { ResponseOf } from '@stemma/api'
 * import type { GroupSchema } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const nameOf = (group: ResponseOf<typeof GroupSchema>) => group.name
 * ```
 */
export type ResponseOf<O extends DescMessage> = MessageShape<O> extends Struct ? JsonObject : MessageShape<O>

/**
 * A client method that returns one response.
 *
 * @example
 * ```ts
 * import type { UnaryCall } from '@stemma/api'
 * import type { GetGroupRequestSchema, GroupSchema } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * async function nameOf(getGroup: UnaryCall<typeof GetGroupRequestSchema, typeof GroupSchema>, uid: string) {
 *   return (await getGroup({ uid })).name
 * }
 * ```
 */
export type UnaryCall<I extends DescMessage, O extends DescMessage> = {
  (request: MessageInitShape<I>, options?: CallOptions): Promise<ResponseOf<O>>
  readonly method: DescMethodUnary<I, O>
  readonly route: Route
}

/**
 * A client method that streams its responses. Leave the `for await` loop to end the stream.
 *
 * @example
 * ```ts
 * import { createClient } from '@stemma/api'
 * import { AdvisoriesService } from '@stemma/api/platform/vulnerabilities/v2beta1/advisory'
 *
 * const advisories = createClient(AdvisoriesService, { baseUrl: 'http://localhost:8080', token: 'an access token' })
 * for await (const osv of advisories.exportAdvisoriesOsv({ query: 'cve-2026' })) {
 *   console.log(osv.id)
 *   break
 * }
 * ```
 */
export type StreamCall<I extends DescMessage, O extends DescMessage> = {
  (request: MessageInitShape<I>, options?: CallOptions): AsyncGenerator<ResponseOf<O>, void>
  readonly method: DescMethodServerStreaming<I, O>
  readonly route: Route
}

/**
 * A client of a service: one method for each RPC.
 *
 * @example
 * ```ts
 * import type { Client } from '@stemma/api'
 * import type { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * async function rename(groups: Client<typeof GroupsService>, uid: string, name: string) {
 *   await groups.updateGroup({ group: { uid, name } })
 * }
 * ```
 */
export type Client<S extends DescService> = {
  readonly [M in keyof S['method']]: S['method'][M] extends DescMethodUnary<infer I, infer O>
    ? UnaryCall<I, O>
    : S['method'][M] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamCall<I, O>
      : never
}

/**
 * Creates a client of a service. No connection is opened until the first call.
 *
 * @example
 * ```ts
 * import { createClient } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const groups = createClient(GroupsService, {
 *   baseUrl: 'https://stemma.example.com',
 *   token: process.env.STEMMA_TOKEN,
 * })
 * const acme = await groups.createGroup({ group: { name: 'acme' } })
 * const team = await groups.createGroup({ parent: acme.uid, group: { name: 'platform' } })
 * await groups.updateGroup({ group: { uid: team.uid, description: 'The platform team' } })
 * ```
 */
export function createClient<S extends DescService>(service: S, options: ConnectionOptions): Client<S> {
  const transport = createTransport(options)
  const calls = service.methods.map((method) => [method.localName, createCall(transport, method)])
  // The cast is safe: the object has one method for each RPC of the service.
  return Object.fromEntries(calls) as Client<S>
}

function createCall(transport: Transport, method: DescMethod) {
  const route = routeOf(method)
  const call = route.isStream ? streamCall(transport, method, route) : unaryCall(transport, method, route)
  return Object.assign(call, { method, route })
}

function unaryCall(transport: Transport, method: DescMethod, route: Route) {
  return async (request: MessageInitShape<DescMessage>, options?: CallOptions) =>
    decode(method, await transport.call(route, encode(method, request), options))
}

function streamCall(transport: Transport, method: DescMethod, route: Route) {
  return async function* (request: MessageInitShape<DescMessage>, options?: CallOptions) {
    for await (const document of transport.stream(route, encode(method, request), options))
      yield decode(method, document)
  }
}

function encode({ input }: DescMethod, request: MessageInitShape<DescMessage>): JsonObject {
  try {
    return toJson(input, create(input, request)) as JsonObject
  } catch (error) {
    throw invalidArgument('request', (error as Error).message)
  }
}

/** Ignores unknown fields, which a newer server may send. */
function decode({ output }: DescMethod, json: JsonObject) {
  if (output.typeName === 'google.protobuf.Struct') return json
  try {
    return fromJson(output, json, { ignoreUnknownFields: true })
  } catch (cause) {
    const message = `Internal: the response is not a valid ${output.typeName}: ${(cause as Error).message}`
    throw new StemmaError(Code.INTERNAL, message, { cause })
  }
}
