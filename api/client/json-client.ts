// Clients with plain JSON, typed by the generated routes of services. They need no protobuf code.
import type { JsonObject } from '@bufbuild/protobuf'
import type { CallOptions, ConnectionOptions } from './options.ts'
import type { Route, StreamRoute, UnaryRoute } from './route.ts'
import type { Transport } from './transport.ts'
import { createTransport } from './transport.ts'

/**
 * A JSON type in which every field is optional, at any depth. Fields that are undefined are not sent.
 *
 * @example
 * ```ts
 * import type { DeepPartial } from '@stemma/api/json'
 * import type { CreateGroupRequestJson } from '@stemma/api/json/platform/iam/v2beta1/group'
 *
 * const request: DeepPartial<CreateGroupRequestJson> = { group: { name: 'platform', description: undefined } }
 * ```
 */
export type DeepPartial<T> = T extends readonly (infer E)[]
  ? readonly DeepPartial<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T

/**
 * A client method that returns one response. `@stemma/api/json` exports it as `UnaryCall`.
 *
 * @example
 * ```ts
 * import type { UnaryCall } from '@stemma/api/json'
 * import type { GetGroupRequestJson, GroupJson } from '@stemma/api/json/platform/iam/v2beta1/group'
 *
 * async function nameOf(getGroup: UnaryCall<GetGroupRequestJson, GroupJson>, uid: string) {
 *   return (await getGroup({ uid })).name
 * }
 * ```
 */
export type JsonUnaryCall<Request, Response> = {
  (request: DeepPartial<Request>, options?: CallOptions): Promise<Response>
  readonly route: Route
}

/**
 * A client method that streams its responses. Leave the `for await` loop to end the stream. `@stemma/api/json` exports
 * it as `StreamCall`.
 *
 * @example
 * ```ts
 * import { createClient } from '@stemma/api/json'
 * import { AdvisoriesService } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
 *
 * const advisories = createClient(AdvisoriesService, { baseUrl: 'http://localhost:8080', token: 'an access token' })
 * for await (const osv of advisories.exportAdvisoriesOsv({ query: 'cve-2026' })) {
 *   console.log(osv.id)
 *   break
 * }
 * ```
 */
export type JsonStreamCall<Request, Response> = {
  (request: DeepPartial<Request>, options?: CallOptions): AsyncGenerator<Response, void>
  readonly route: Route
}

/**
 * A client of a service: one method for each RPC. `@stemma/api/json` exports it as `Client`.
 *
 * @example
 * ```ts
 * import type { Client } from '@stemma/api/json'
 * import type { GroupsService } from '@stemma/api/json/platform/iam/v2beta1/group'
 *
 * async function clearDescription(groups: Client<typeof GroupsService>, uid: string) {
 *   await groups.updateGroup({ group: { uid, description: '' } })
 * }
 * ```
 */
export type JsonClient<R> = {
  readonly [M in keyof R]: R[M] extends StreamRoute<infer Request, infer Response>
    ? JsonStreamCall<Request, Response>
    : R[M] extends UnaryRoute<infer Request, infer Response>
      ? JsonUnaryCall<Request, Response>
      : never
}

/**
 * Creates a client of a service. No connection is opened until the first call.
 *
 * @example
 * ```ts
 * import { createClient } from '@stemma/api/json'
 * import { GroupsService } from '@stemma/api/json/platform/iam/v2beta1/group'
 *
 * const groups = createClient(GroupsService, { baseUrl: 'https://stemma.example.com', token: 'an access token' })
 * const acme = await groups.createGroup({ group: { name: 'acme' } })
 * console.log(acme.createTime) // '2026-01-31T09:30:00.000Z'
 * ```
 */
export function createClient<R extends Record<keyof R, Route>>(
  service: R,
  options: ConnectionOptions,
): JsonClient<R> {
  const transport = createTransport(options)
  const calls = Object.entries<Route>(service).map(([name, route]) => [name, createCall(transport, route)])
  // The cast is safe: the object has one method for each route of the service.
  return Object.fromEntries(calls) as JsonClient<R>
}

function createCall(transport: Transport, route: Route) {
  const send = route.isStream ? transport.stream : transport.call
  const call = (request: JsonObject, options?: CallOptions) => send(route, request, options)
  return Object.assign(call, { route })
}
