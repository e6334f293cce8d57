// A client with a method for each call of a service, made and typed by its descriptor.
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
import { invalidArgument, StemmaError } from './errors.ts'
import type { Route } from './route.ts'
import { routeOf } from './route-of.ts'
import type { CallOptions, ConnectionOptions, Transport } from './transport.ts'
import { openTransport } from './transport.ts'

/** Documents of other formats, such as OSV, come as the JSON that they are. */
export type Answer<O extends DescMessage> = MessageShape<O> extends Struct ? JsonObject : MessageShape<O>

export type UnaryCall<I extends DescMessage, O extends DescMessage> = {
  (request: MessageInitShape<I>, options?: CallOptions): Promise<Answer<O>>
  readonly method: DescMethodUnary<I, O>
  readonly route: Route
}

export type StreamCall<I extends DescMessage, O extends DescMessage> = {
  (request: MessageInitShape<I>, options?: CallOptions): AsyncGenerator<Answer<O>, void>
  readonly method: DescMethodServerStreaming<I, O>
  readonly route: Route
}

export type Client<S extends DescService> = {
  readonly [M in keyof S['method']]: S['method'][M] extends DescMethodUnary<infer I, infer O>
    ? UnaryCall<I, O>
    : S['method'][M] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamCall<I, O>
      : never
}

export function createClient<S extends DescService>(service: S, options: ConnectionOptions): Client<S> {
  const transport = openTransport(options)
  const calls = service.methods.map((method) => [method.localName, callOf(transport, method)])
  // The type says of each name what its descriptor says of it.
  return Object.fromEntries(calls) as Client<S>
}

function callOf(transport: Transport, method: DescMethod) {
  const route = routeOf(method)
  const call = route.isStream ? stream(transport, method, route) : unary(transport, method, route)
  return Object.assign(call, { method, route })
}

function unary(transport: Transport, method: DescMethod, route: Route) {
  return async (request: MessageInitShape<DescMessage>, options?: CallOptions) =>
    messageOf(method, await transport.ask(route, jsonOf(method, request), options))
}

function stream(transport: Transport, method: DescMethod, route: Route) {
  return async function* (request: MessageInitShape<DescMessage>, options?: CallOptions) {
    for await (const document of transport.read(route, jsonOf(method, request), options))
      yield messageOf(method, document)
  }
}

function jsonOf({ input }: DescMethod, request: MessageInitShape<DescMessage>): JsonObject {
  try {
    return toJson(input, create(input, request)) as JsonObject
  } catch (error) {
    throw invalidArgument('request', (error as Error).message)
  }
}

/** What a newer server says beyond our contract is passed over. */
function messageOf({ output }: DescMethod, json: JsonObject) {
  if (output.typeName === 'google.protobuf.Struct') return json
  try {
    return fromJson(output, json, { ignoreUnknownFields: true })
  } catch (cause) {
    const text = `Internal: the answer is no ${output.typeName}: ${(cause as Error).message}`
    throw new StemmaError(Code.INTERNAL, text, { cause })
  }
}
