// Makes a query from a call and its request. The cache key is the kind, the route and the request.
import type { DeepPartial, UnaryCall } from '@stemma/api/json'
import { keepPreviousData, useQuery } from '@tanstack/preact-query'

export type Read<T> = { queryKey: readonly unknown[]; queryFn(context: { signal: AbortSignal }): Promise<T> }

/** Returns a query, which the `load` function of a page, `useData` and `useRead` accept. */
export function read<Request, Response>(
  call: UnaryCall<Request, Response>,
  request: DeepPartial<Request>,
): Read<Response> {
  const { verb, path } = call.route
  return {
    queryKey: [kindOf(path), `${verb} ${path}`, request],
    queryFn: ({ signal }) => call(request, { signal }),
  }
}

/** The kind of resource in the path of a route: `groups` of `/iam/v2beta1/groups/{uid=**}`. */
export const kindOf = (path: string) => path.split(/[/:{]/)[3] ?? ''

/** Data that `load` of the page has already loaded. Renders again when the data changes. */
export function useData<T>(query: Read<T>): T {
  const { data, error } = useQuery({ ...query, placeholderData: keepPreviousData })
  if (data === undefined)
    throw error ?? new Error(`${String(query.queryKey[1])} is not in load() of the page`)
  return data as T
}

/** Data that a page shows when it arrives. */
export const useRead = <T>(query: Read<T>, enabled = true) => useQuery<T>({ ...query, enabled })
