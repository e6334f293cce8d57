// A list of vulnerabilities by their ids. There is no index of all ids, so the ids of the request are looked up.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import type {
  ListVulnerabilityMetadataRequest,
  VulnerabilityMetadata,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { ListVulnerabilityMetadataResponseSchema } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { invalidField } from '../../../../aip/errors.ts'
import { parseOrderBy } from '../../../../aip/order-by.ts'
import type { Query } from '../../../../aip/page-token.ts'
import { fingerprintOf } from '../../../../aip/page-token.ts'
import { admitToRead } from '../../../../policy/admit.ts'
import type { Call } from '../../../../rpc/call.ts'
import type { Work } from '../../../../store/work.ts'
import type { Reply } from '../../../../wire/reply.ts'
import { messageReply } from '../../../../wire/reply.ts'
import type { Dependencies } from '../../../dependencies.ts'
import { describeVulnerabilities } from './describe-vulnerabilities.ts'
import type { Scope } from './find-vulnerabilities.ts'
import { findVulnerabilities } from './find-vulnerabilities.ts'

const defaultPageSize = 50
const maxPageSize = 200
/** A page ends when its records have this many characters. Its last record may exceed the limit. */
const maxPageCharacters = 4 * 1024 * 1024
/** How many ids are looked up in one transaction, so that other calls can run in between. */
const idsPerSearch = 100
/** How many ids are looked up and described in one transaction. */
const idsPerDescription = 10
/** The record of a vulnerability is chosen among those of this many advisories. */
const consideredAdvisories = 20

const sortable = new Map([['id', 'id']])

type MetadataDependencies = Pick<Dependencies, 'store' | 'pageSeals' | 'maxListRows'>
type MetadataCall = Call<ListVulnerabilityMetadataRequest>

export async function listVulnerabilityMetadata(
  deps: MetadataDependencies,
  call: MetadataCall,
): Promise<Reply> {
  const { request } = call
  const { ids, query, after } = await deps.store.read(function* () {
    yield* admitToRead(call.demand)
    return readRequest(deps, call)
  })
  const known = await keepKnown(deps, call, ids)
  const idsAfter = new Set(after === undefined ? ids : ids.slice(ids.indexOf(after) + 1))
  const following = known.filter((id) => idsAfter.has(id)).slice(request.skip)
  const { metadata, last } = await describeAll(deps, call, following.slice(0, pageSizeOf(request)))
  const hasMore = last !== undefined && last !== following.at(-1)
  const response = create(ListVulnerabilityMetadataResponseSchema, {
    vulnerabilityMetadata: metadata,
    nextPageToken: hasMore ? deps.pageSeals.seal(query, [last]) : '',
    totalCount: BigInt(known.length),
    skipped: request.skip,
  })
  return messageReply(ListVulnerabilityMetadataResponseSchema, response)
}

const pageSizeOf = ({ pageSize }: ListVulnerabilityMetadataRequest) =>
  Math.min(pageSize || defaultPageSize, maxPageSize)

/** The ids in the order of the list, and the id after which the page starts. */
function readRequest(
  { pageSeals }: MetadataDependencies,
  { request, method }: MetadataCall,
): { ids: string[]; query: Query; after: string | undefined } {
  const ids = [...new Set([request.id, ...request.ids])].filter(Boolean).sort()
  if (ids.length === 0)
    throw invalidField('ids', 'is required: ids of vulnerabilities, such as CVE-2026-12345')
  const order = parseOrderBy(request.orderBy, sortable, [{ column: 'id', descending: false }])
  if (order[0]?.descending) ids.reverse()
  const query = { method: method.name, fingerprint: fingerprintOf(ids) }
  const [after] = pageSeals.open(query, request.pageToken) ?? []
  return { ids, query, after: after as string | undefined } // listVulnerabilityMetadata has sealed it
}

/** Keeps the ids that occur in an advisory that the caller may list. */
async function keepKnown(
  deps: MetadataDependencies,
  call: MetadataCall,
  ids: readonly string[],
): Promise<string[]> {
  const known: string[] = []
  for (let at = 0; at < ids.length; at += idsPerSearch) {
    const chunk = ids.slice(at, at + idsPerSearch)
    const found = await inScope(deps, call, 1, (scope) => findVulnerabilities(scope, chunk))
    known.push(...found.map(({ id }) => id))
  }
  return known
}

/**
 * May end early, if the records are large. `last` is the last id that was looked up. It may have no metadata, if its
 * advisories were withdrawn meanwhile.
 */
async function describeAll(
  deps: MetadataDependencies,
  call: MetadataCall,
  ids: readonly string[],
): Promise<{ metadata: VulnerabilityMetadata[]; last: string | undefined }> {
  const metadata: VulnerabilityMetadata[] = []
  let last: string | undefined
  let size = 0
  for (let at = 0; at < ids.length && size < maxPageCharacters; at += idsPerDescription) {
    const chunk = ids.slice(at, at + idsPerDescription)
    const described = await inScope(deps, call, consideredAdvisories, function* (scope) {
      const found = yield* findVulnerabilities(scope, chunk)
      return yield* describeVulnerabilities(found, maxPageCharacters - size)
    })
    metadata.push(...described.metadata)
    size += described.size
    last = size > maxPageCharacters ? metadata.at(-1)?.id : chunk.at(-1)
  }
  return { metadata, last }
}

/** Runs the work in a transaction that has read the caller's grants. */
async function inScope<T>(
  { store, maxListRows: maxRows }: MetadataDependencies,
  call: MetadataCall,
  advisoriesPerId: number,
  work: (scope: Scope) => Work<T>,
): Promise<T> {
  const result = await store.read(function* () {
    return yield* work({ call, grants: yield* admitToRead(call.demand), maxRows, advisoriesPerId })
  })
  // The embedded store answers synchronously; this lets other calls run.
  await nextTurn()
  return result
}
