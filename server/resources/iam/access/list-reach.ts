import { create } from '@bufbuild/protobuf'
import type { ListReachRequest } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { ListReachResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { invalidArgument } from '../../../aip/errors.ts'
import { fingerprintOf } from '../../../aip/page-token.ts'
import { isAtOrBelow } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { noAccess, openDecisions } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { withinLimits } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Work } from '../../../store/work.ts'
import type { TokenLimits } from '../../../wire/caller.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { pageSizeOf } from '../../list.ts'
import { askBits } from './answer.ts'
import { entriesOf } from './entry.ts'
import { capabilityNeed } from './need.ts'
import type { OwnSource } from './source.ts'
import { groupOf, readSourcesOf } from './source.ts'

/** An identity has at most 3000 sources, so all are read and a page is cut out. */
export function* listReach(
  { pageSeals }: Pick<Dependencies, 'pageSeals'>,
  { demand, method, request }: Call<ListReachRequest>,
): Work<Reply> {
  const { identity, limits } = demand.caller
  const subject = request.identity || identity
  const isSelf = subject === identity
  const grants = yield* admitToRead(demand)
  const need = request.capability === '' ? undefined : capabilityNeed(request.capability)
  if (need?.kind === 'wrong') throw invalidArgument(need.violation)
  const query = {
    method: method.name,
    fingerprint: fingerprintOf([subject, request.capability, request.group]),
  }
  const [after = ''] = (pageSeals.open(query, request.pageToken) ?? []) as string[] // only this list seals them
  const isVisible = isSelf ? withinToken(limits, need?.bits) : visibleTo(grants)
  const sources = (yield* readSourcesOf(subject, grants.time)).filter(
    (source) =>
      !source.isSuspended &&
      (need === undefined || need.bits.every((bit) => source.bits.has(bit))) &&
      (request.group === '' || isAtOrBelow(groupOf(source), request.group)) &&
      isVisible(source),
  )
  const rest = sources.filter(({ binding }) => binding > after)
  const page = rest.slice(0, pageSizeOf(request))
  const last = page.at(-1)
  return messageReply(
    ListReachResponseSchema,
    create(ListReachResponseSchema, {
      entries: yield* entriesOf(page, grants, undefined),
      nextPageToken: last && rest.length > page.length ? pageSeals.seal(query, [last.binding]) : '',
      totalCount: BigInt(sources.length),
      ...(isSelf && limits && { limits: limitsOf(limits) }),
    }),
  )
}

/** Whether the caller may ask about others in the group of a source. */
function visibleTo(grants: Grants): (source: OwnSource) => boolean {
  const decide = openDecisions(grants.list)
  return (source) => decide(askBits, groupOf(source)) !== noAccess
}

/** Whether a source still grants anything within the limits of a token and, if `bits` are given, all of them. */
const withinToken =
  (limits: TokenLimits | undefined, bits: readonly number[] = []) =>
  (source: OwnSource): boolean => {
    if (!limits) return true
    const rest = withinLimits([{ group: groupOf(source), bits: source.bits }], limits)
    return rest.some((grant) => grant.bits.size > 0 && bits.every((bit) => grant.bits.has(bit)))
  }

export const limitsOf = ({ scopes = [], capabilities = [] }: TokenLimits) => ({
  scopes: [...scopes],
  capabilities: [...capabilities],
})
