// A client with a method for each call of a service that takes and gives JSON, made and typed by its routes.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Route, StreamRoute, UnaryRoute } from './route.ts'
import type { CallOptions, ConnectionOptions, Transport } from './transport.ts'
import { openTransport } from './transport.ts'

/** What is undefined is left out. */
export type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Given<T[K]> | undefined }
    : T

export type JsonUnaryCall<Request, Answer> = {
  (request: Given<Request>, options?: CallOptions): Promise<Answer>
  readonly route: Route
}

export type JsonStreamCall<Request, Answer> = {
  (request: Given<Request>, options?: CallOptions): AsyncGenerator<Answer, void>
  readonly route: Route
}

export type JsonClient<R> = {
  readonly [M in keyof R]: R[M] extends StreamRoute<infer Request, infer Answer>
    ? JsonStreamCall<Request, Answer>
    : R[M] extends UnaryRoute<infer Request, infer Answer>
      ? JsonUnaryCall<Request, Answer>
      : never
}

export function createClient<R extends Record<keyof R, Route>>(
  service: R,
  options: ConnectionOptions,
): JsonClient<R> {
  const transport = openTransport(options)
  const calls = Object.entries<Route>(service).map(([name, route]) => [name, callOf(transport, route)])
  // The type says of each name what its route says of it.
  return Object.fromEntries(calls) as JsonClient<R>
}

function callOf({ ask, read }: Transport, route: Route) {
  const send = route.isStream ? read : ask
  const call = (request: JsonObject, options?: CallOptions) => send(route, request, options)
  return Object.assign(call, { route })
}
