import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageJsonType,
} from '@bufbuild/protobuf'

/**
 * The HTTP binding of an RPC. A client can send the RPC with its route alone, without its descriptor. Fields have their
 * JSON names.
 *
 * @example
 * ```ts
 * import { GroupsService } from '@stemma/api/json/platform/iam/v2beta1/group'
 *
 * const route: Route = GroupsService.updateGroup
 * console.log(route.verb, route.path, route.body) // PATCH /iam/v2beta1/groups/{group.uid=**} group
 * ```
 */
export type Route = {
  readonly verb: string
  /** Path template, such as `/iam/v2beta1/groups/{group.uid=**}`. */
  readonly path: string
  /** The request field that is sent as the body, or `*` for the whole request. */
  readonly body?: string
  /** Whether the field that is sent as the body is repeated. */
  readonly isListBody?: true
  readonly isStream?: true
  /** Whether the RPC creates something, so that it accepts an idempotency key. */
  readonly isCreate?: true
  /** The response field that contains the items, if the RPC is a list. */
  readonly items?: string
  /** Whether the list has pages: the request has a `pageSize`. */
  readonly isPaged?: true
}

/** Attaches types to a route. The property never exists at run time. */
type Typed<Request, Response> = { readonly types?: (request: Request) => Response }

/**
 * The route of an RPC with one response.
 *
 * @example
 * ```ts
 * const ping: UnaryRoute<object, { response?: string }> = { verb: 'GET', path: '/ping/v2beta1/ping' }
 * ```
 */
export type UnaryRoute<Request, Response> = Route & { readonly isStream?: never } & Typed<Request, Response>

/**
 * The route of an RPC that streams its responses.
 *
 * @example
 * ```ts
 * const events: StreamRoute<object, { id?: string }> = { verb: 'GET', path: '/events', isStream: true }
 * ```
 */
export type StreamRoute<Request, Response> = Route & { readonly isStream: true } & Typed<Request, Response>

/**
 * The routes of a service by method name, with the JSON types of requests and responses.
 *
 * @example
 * ```ts
 * import { PingService as routes } from '@stemma/api/json/platform/ping/v2beta1/ping'
 * import type { PingService } from '@stemma/api/platform/ping/v2beta1/ping'
 *
 * const typed: Routes<typeof PingService> = routes
 * ```
 */
export type Routes<S extends DescService> = {
  readonly [M in keyof S['method']]: S['method'][M] extends DescMethodUnary<infer I, infer O>
    ? UnaryRoute<MessageJsonType<I>, MessageJsonType<O>>
    : S['method'][M] extends DescMethodServerStreaming<infer I, infer O>
      ? StreamRoute<MessageJsonType<I>, MessageJsonType<O>>
      : never
}
