// The list of tags.
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { call } from './call.ts'
import type { EndpointHandler, RegistryResponse } from './door-context.ts'
import { repoOf } from './names.ts'

const maxTags = 1000

export const getTags: EndpointHandler = (deps, exchange) => {
  const { name, query } = exchange
  const limit = limitOf(query.get('n'))
  const after = query.get('last') ?? ''
  const read = () => andThen(repoOf(deps, exchange), (repo) => ({ repo, limit, after }))
  return andThen(
    call(deps, exchange, Content.method.listTagNames, read),
    ({ names, hasMore }): RegistryResponse => {
      const last = names.at(-1)
      const next = `/v2/${name}/tags/list?n=${limit}&last=${last}`
      return {
        status: 200,
        headers: {
          'content-type': 'application/json',
          ...(hasMore && last !== undefined && { link: `<${next}>; rel="next"` }),
        },
        body: JSON.stringify({ name, tags: names }),
      }
    },
  )
}

function limitOf(n: string | null): number {
  if (n === null || n === '') return maxTags
  if (/^\d{1,9}$/.test(n)) return Math.min(Number(n), maxTags)
  throw registryError(
    'PAGINATION_NUMBER_INVALID',
    Code.INVALID_ARGUMENT,
    'n must be the number of tags to return',
  )
}
