import { create } from '@bufbuild/protobuf'
import type { ListAccessRequest } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { ListAccessResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { invalidArgument } from '../../../aip/errors.ts'
import type { Cursor } from '../../../aip/page-token.ts'
import { fingerprintOf } from '../../../aip/page-token.ts'
import { isUid, lineage } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { latestEnd, noAccess } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { withinLimits } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pageSizeOf } from '../../list.ts'
import { countSources } from './count-sources.ts'
import { entriesOf } from './entry.ts'
import { capabilityNeed } from './need.ts'
import { rolesWith } from './roles-with.ts'
import type { OwnSource, Source } from './source.ts'
import { groupOf, readSourcesOf } from './source.ts'
import type { SourceCursor, SourcesQuery } from './sources-at.ts'
import { readSourcesAt } from './sources-at.ts'

/** `sources` has more than a page if there is a next page. */
type Found = { sources: { source: Source; cursor: SourceCursor }[]; total: number }

export function* listAccess(
  { pageSeals }: Pick<Dependencies, 'pageSeals'>,
  { demand, method, request }: Call<ListAccessRequest>,
): Work<Reply> {
  const { resource, identity, capability } = request
  const isSelf = identity !== '' && identity === demand.caller.identity
  const grants = yield* admitToRead({
    ...demand,
    capabilities: isSelf ? [] : demand.capabilities,
    // If the resource is not a uid, the caller gets the error of the field (`demand.fault`). With the resource as the
    // scope, `admitToRead` would throw “not found”.
    ...(resource !== '' && !isUid(resource) && { scope: '', isScopeOptional: true }),
  })
  const need = capability === '' ? undefined : capabilityNeed(capability)
  if (need?.kind === 'wrong') throw invalidArgument(need.violation)
  const query = { method: method.name, fingerprint: fingerprintOf([resource, identity, capability]) }
  const after = pageSeals.open(query, request.pageToken) as SourceCursor | undefined // sealed below
  const size = pageSizeOf(request)
  const bit = need?.bits[0]
  const { sources, total } =
    identity === ''
      ? yield* findAll(resource, bit, grants.time, after, size)
      : yield* findOfIdentity(grants, identity, resource, bit, after)
  const page = sources.slice(0, size)
  const last = page.at(-1)
  const entries = yield* entriesOf(
    page.map(({ source }) => source),
    grants,
    resource,
  )
  return messageReply(
    ListAccessResponseSchema,
    create(ListAccessResponseSchema, {
      entries,
      nextPageToken: last && sources.length > size ? pageSeals.seal(query, last.cursor as Cursor) : '',
      totalCount: BigInt(total),
    }),
  )
}

/** The nearest level first: a resource, and the groups above it. */
const levelsOf = (resource: string) => lineage(resource).reverse()

function* findAll(
  resource: string,
  bit: number | undefined,
  time: number,
  after: SourceCursor | undefined,
  size: number,
): Work<Found> {
  const levels = levelsOf(resource)
  const roles = bit === undefined ? undefined : yield* rolesWith([bit], levels)
  if (roles?.length === 0) return { sources: [], total: 0 }
  const query: SourcesQuery = { levels, roles, time }
  return { sources: yield* readSourcesAt(query, after, size + 1), total: yield* countSources(query) }
}

/** All sources of one identity after the cursor. There are few, so no limit is needed. */
function* findOfIdentity(
  grants: Grants,
  identity: string,
  resource: string,
  bit: number | undefined,
  after: SourceCursor | undefined,
): Work<Found> {
  const levels = levelsOf(resource)
  const own = yield* readSourcesOf(identity, grants.time, levels)
  const limits = identity === grants.caller.identity ? grants.caller.limits : undefined
  const givesAccess = (source: OwnSource): boolean => {
    const grant = { group: groupOf(source), bits: source.bits }
    const list = limits ? withinLimits([grant], limits) : [grant]
    const wanted = bit === undefined ? [...source.bits] : [bit]
    return !source.isSuspended && wanted.some((one) => latestEnd(list, one, resource) !== noAccess)
  }
  const sources = own.filter(givesAccess).map((source) => ({
    source,
    cursor: [levels.indexOf(groupOf(source)), source.binding, identity] as SourceCursor,
  }))
  // The sort is stable, so the sources of a level stay ordered by binding.
  sources.sort((a, b) => a.cursor[0] - b.cursor[0])
  return {
    sources: after ? sources.filter(({ cursor }) => isAfter(cursor, after)) : sources,
    total: sources.length,
  }
}

const isAfter = ([level, binding]: SourceCursor, [afterLevel, afterBinding]: SourceCursor) =>
  level > afterLevel || (level === afterLevel && binding > afterBinding)
