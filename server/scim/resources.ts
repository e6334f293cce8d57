// The endpoints of users and groups (RFC 7644 section 3).
import type { Work } from '../store/work.ts'
import type { ChangeContext } from './change-context.ts'
import { noSuchResource, ScimError } from './errors.ts'
import { etagOf, isUnchanged } from './etag.ts'
import { createGroup, deleteGroup, patchGroup, replaceGroup } from './groups/groups.ts'
import { storedGroups } from './groups/stored-groups.ts'
import { listQueryOf, searchOf, selectionOf } from './list-query.ts'
import { listResponse, show } from './list-response.ts'
import { recordChange } from './record-change.ts'
import type { ScimDependencies, ScimRequest, ScimResponse } from './request.ts'
import type { Selection } from './schema/project.ts'
import type { Resource } from './schema/schema.ts'
import type { Changed, Stored, StoredType } from './stored.ts'
import { findStored, idOf } from './stored.ts'
import { storedUsers } from './users/stored-users.ts'
import { createUser, deleteUser, patchUser, replaceUser } from './users/users.ts'

/** How resources of one type are stored and changed. */
export type Endpoint = {
  stored: StoredType
  create(context: ChangeContext, body: Resource): Work<Stored>
  replace(context: ChangeContext, id: string, body: Resource): Work<Changed>
  patch(context: ChangeContext, id: string, body: Resource): Work<Changed>
  /**
   * Returns whether the resource is deleted. If not, it has a new version, and the call must be repeated in another
   * transaction, without `ifMatch`.
   */
  delete(context: ChangeContext, id: string): Work<boolean>
}

export const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  [
    'Users',
    { stored: storedUsers, create: createUser, replace: replaceUser, patch: patchUser, delete: deleteUser },
  ],
  [
    'Groups',
    {
      stored: storedGroups,
      create: createGroup,
      replace: replaceGroup,
      patch: patchGroup,
      delete: deleteGroup,
    },
  ],
])

/** Requests to `/Users` and `/Groups`. */
export async function answerCollection(
  deps: ScimDependencies,
  endpoint: Endpoint,
  request: ScimRequest,
): Promise<ScimResponse> {
  if (request.method === 'GET') return listResponse(deps, [endpoint], request, listQueryOf(request.query))
  if (request.method !== 'POST') throw methodNotAllowed('GET, HEAD, POST')
  const selection = selectionOf(request.query)
  const body = await request.body()
  const created = await deps.store.write(function* () {
    const stored = yield* endpoint.create(contextOf(deps, request), body)
    yield* recordChange(deps, request, endpoint.stored, idOf(stored.uid), 'created')
    return stored
  })
  return respond(deps, endpoint, request, selection, created, 201)
}

/** Requests to one resource. */
export async function answerResource(
  deps: ScimDependencies,
  endpoint: Endpoint,
  request: ScimRequest,
  id: string,
): Promise<ScimResponse> {
  const context = contextOf(deps, request)
  switch (request.method) {
    case 'GET':
      return get(deps, endpoint, request, id)
    case 'PUT':
    case 'PATCH': {
      // An invalid query must fail before the write, because clients repeat failed requests.
      const selection = selectionOf(request.query)
      const body = await request.body()
      const change = request.method === 'PUT' ? endpoint.replace : endpoint.patch
      const changed = await deps.store.write(function* () {
        const { stored, isChanged } = yield* change(context, id, body)
        if (isChanged) yield* recordChange(deps, request, endpoint.stored, id, 'updated')
        return stored
      })
      return respond(deps, endpoint, request, selection, changed, 200)
    }
    case 'DELETE': {
      // Each batch is a recorded change with a new version, because the next one may fail.
      const deleteBatch = (batchContext: ChangeContext) =>
        deps.store.write(function* () {
          const isDeleted = yield* endpoint.delete(batchContext, id)
          yield* recordChange(deps, request, endpoint.stored, id, isDeleted ? 'deleted' : 'updated')
          return isDeleted
        })
      let isDone = await deleteBatch(context)
      // If-Match names a version that the first batch has replaced.
      while (!isDone) isDone = await deleteBatch({ ...context, ifMatch: undefined })
      return { status: 204 }
    }
    default:
      throw methodNotAllowed('GET, HEAD, PUT, PATCH, DELETE')
  }
}

/** `POST /.search`, below one collection or for all (RFC 7644 section 3.4.3). */
export async function answerSearch(
  deps: ScimDependencies,
  searched: readonly Endpoint[],
  request: ScimRequest,
): Promise<ScimResponse> {
  if (request.method !== 'POST') throw methodNotAllowed('POST')
  const query = searchOf(await request.body())
  return listResponse(deps, searched, request, query)
}

const contextOf = (
  { now, random, onIgnoredMembers }: ScimDependencies,
  { provider, ifMatch }: ScimRequest,
): ChangeContext => ({
  ...{ provider, now, random, ifMatch },
  onIgnoredMembers(count) {
    if (count > 0) onIgnoredMembers({ provider, count })
  },
})

async function get(
  deps: ScimDependencies,
  endpoint: Endpoint,
  request: ScimRequest,
  id: string,
): Promise<ScimResponse> {
  const { stored } = endpoint
  const found = await deps.store.read(() => findStored(stored, request.provider, id))
  if (!found) throw noSuchResource(stored.type.name, id)
  if (isUnchanged(request.ifNoneMatch, found.version))
    return { status: 304, headers: { etag: etagOf(found.version) } }
  return respond(deps, endpoint, request, selectionOf(request.query), found, 200)
}

async function respond(
  deps: ScimDependencies,
  { stored }: Endpoint,
  request: ScimRequest,
  selection: Selection,
  found: Stored,
  status: number,
): Promise<ScimResponse> {
  const { store } = deps
  const { provider, base } = request
  const [body] = await show({ store, provider, base }, stored, [found], selection)
  return {
    status,
    body,
    headers: { etag: etagOf(found.version), location: `${base}/${stored.type.endpoint}/${idOf(found.uid)}` },
  }
}

export const methodNotAllowed = (allow: string) =>
  new ScimError(405, `method not allowed; this endpoint accepts ${allow}`, undefined, { allow })
