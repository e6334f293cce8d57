// The images that a tag has named, the oldest first. Not part of OCI Distribution: some published clients request it, at a
// path below the name of the repo.
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies, RegistryResponse } from './door-context.ts'
import { repoOf } from './names.ts'

export function getTagHistory(
  deps: RegistryDependencies,
  exchange: Exchange,
  { extension, tag }: { extension: string; tag: string },
): MaybePromise<RegistryResponse> {
  if (!deps.extensions.has(extension))
    throw registryError('UNSUPPORTED', Code.NOT_FOUND, 'the registry has no such path')
  const { query } = exchange
  const range = { ...timeOf(query, 'start'), ...timeOf(query, 'end') }
  const read = () => andThen(repoOf(deps, exchange), (repo) => ({ repo, name: tag, ...range }))
  return andThen(call(deps, exchange, Content.method.listTagMoves, read), ({ moves }): RegistryResponse => {
    const history = moves.map(({ time, digest }) => ({
      ...{ updateTimestamp: time ? timestampDate(time).toISOString() : '', digest },
    }))
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ history }),
    }
  })
}

/** RFC 3339, with a time zone. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

function timeOf(query: URLSearchParams, field: 'start' | 'end'): { [name in typeof field]?: Timestamp } {
  const text = query.get(field)
  if (text === null || text === '') return {}
  const time = timePattern.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time))
    throw registryError(
      'UNSUPPORTED',
      Code.INVALID_ARGUMENT,
      `${field} must be a time such as 2026-01-31T12:00:00Z`,
    )
  return { [field]: timestampFromMs(time) }
}
