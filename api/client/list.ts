// All that a list has, page after page.
import { Code } from '../gen/google/rpc/code_pb.ts'
import { StemmaError } from './errors.ts'
import type { Route } from './route.ts'
import type { CallOptions } from './transport.ts'

/** Of either client. */
export type ListCall<Request, Page> = {
  (request: Request, options?: CallOptions): Promise<Page>
  readonly route: Route
}

/** What a page is a page of. */
export type Item<Page> = {
  [K in keyof Page as K extends `$${string}` ? never : K]-?: Page[K] extends
    | readonly (infer E extends object)[]
    | undefined
    ? E
    : never
} extends infer Items
  ? Items[keyof Items]
  : never

/** As many as the server gives, so that there are few requests. */
const pageSize = 200

/** One by one, each page when it is needed. `pageSize` is that of a request, not a limit. */
export async function* list<Request extends object, Page>(
  call: ListCall<Request, Page>,
  request: NoInfer<Request>,
  options?: CallOptions,
): AsyncGenerator<Item<Page>, void> {
  const { path, items, isPaged } = call.route
  if (items === undefined) throw new TypeError(`${path} is no list`)
  let asked = fieldsOf(request)
  if (isPaged) asked = { ...asked, pageSize: asked.pageSize || pageSize }
  for (let token = ''; ; ) {
    const page = (await call(asked as Request, options)) as Record<string, unknown>
    // A list of messages, as the type of the items says.
    yield* (page[items] ?? []) as Iterable<Item<Page>>
    const { nextPageToken: next = '' } = page as { nextPageToken?: string }
    if (next === '') return
    if (next === token) throw endless(path)
    token = next
    // What is skipped counts from where the token points.
    asked = { ...asked, skip: undefined, pageToken: token }
  }
}

/** Of a message, what one like it is made of; a copy that keeps the name of its type would be taken for one. */
function fieldsOf(request: object): Record<string, unknown> {
  const { $typeName: _, ...fields } = request as Record<string, unknown>
  return fields
}

const endless = (path: string) =>
  new StemmaError(Code.INTERNAL, `Internal: ${path} answers with the page token that it was asked with`)
