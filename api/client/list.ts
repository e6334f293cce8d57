import { Code } from '../gen/google/rpc/code_pb.ts'
import type { CallOptions } from './options.ts'
import type { Route } from './route.ts'
import { StemmaError } from './stemma-error.ts'

/**
 * A client method that returns one page of a list, as a message or as JSON.
 *
 * @example
 * ```ts
 * import type { ListCall } from '@stemma/api'
 * import { list } from '@stemma/api'
 *
 * async function count<Request extends object, Page>(call: ListCall<Request, Page>, request: Request) {
 *   let items = 0
 *   for await (const _ of list(call, request)) items += 1
 *   return items
 * }
 * ```
 */
export type ListCall<Request, Page> = {
  (request: Request, options?: CallOptions): Promise<Page>
  readonly route: Route
}

/**
 * The type of the items in a page.
 *
 * @example
 * ```ts
 * import type { Item } from '@stemma/api'
 * import type { ListGroupsResponse } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const nameOf = (group: Item<ListGroupsResponse>) => group.name
 * ```
 */
export type Item<Page> = {
  [K in keyof Page as K extends `$${string}` ? never : K]-?: Page[K] extends
    | readonly (infer E extends object)[]
    | undefined
    ? E
    : never
} extends infer Items
  ? Items[keyof Items]
  : never

/** The maximum number of items in a page of the server, so that few requests are needed. */
const defaultPageSize = 200

/**
 * Iterates over all items of a list. Requests a page when its first item is needed. `pageSize` in the request is the
 * size of a page and does not limit the number of items.
 *
 * @example
 * ```ts
 * import { createClient, list } from '@stemma/api'
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * const groups = createClient(GroupsService, { baseUrl: 'http://localhost:8080', token: 'an access token' })
 * const uid = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b'
 * for await (const group of list(groups.listGroups, { uidp: { descendantsOf: uid }, orderBy: 'name' }))
 *   console.log(group.name)
 * ```
 */
export async function* list<Request extends object, Page>(
  call: ListCall<Request, Page>,
  request: NoInfer<Request>,
  options?: CallOptions,
): AsyncGenerator<Item<Page>, void> {
  const { path, items, isPaged } = call.route
  if (items === undefined) throw new TypeError(`${path} is not a list`)
  let pageRequest = fieldsOf(request)
  if (isPaged) pageRequest = { ...pageRequest, pageSize: pageRequest.pageSize || defaultPageSize }
  for (let pageToken = ''; ; ) {
    const page = (await call(pageRequest as Request, options)) as Record<string, unknown>
    // The cast is safe: `items` names the field of the page that contains the items.
    yield* (page[items] ?? []) as Iterable<Item<Page>>
    const { nextPageToken = '' } = page as { nextPageToken?: string }
    if (nextPageToken === '') return
    if (nextPageToken === pageToken) throw repeatedPageToken(path)
    pageToken = nextPageToken
    // With `skip`, the server would skip items again, from the position of the page token.
    pageRequest = { ...pageRequest, skip: undefined, pageToken }
  }
}

/**
 * Removes `$typeName`. Protobuf treats an object with this property as a complete message and would not replace
 * `skip: undefined` by the default.
 */
function fieldsOf(request: object): Record<string, unknown> {
  const { $typeName: _, ...fields } = request as Record<string, unknown>
  return fields
}

const repeatedPageToken = (path: string) =>
  new StemmaError(Code.INTERNAL, `Internal: ${path} returned the page token of the request as nextPageToken`)
