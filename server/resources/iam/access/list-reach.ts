import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { AccessLimitsSchema, ListReachRequest } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
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
import type { Reached } from './reach.ts'
import { positionOf, readBits, readReach, sourcesOf } from './reach.ts'

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
  const [after = ''] = (pageSeals.open(query, request.pageToken) ?? []) as string[] // sealed below
  const inGroup = (yield* readReach(subject, grants.time)).filter(
    ({ group }) => request.group === '' || isAtOrBelow(group, request.group),
  )
  const matching = yield* withCapabilities(inGroup, need?.bits ?? [], isSelf ? limits : undefined)
  const reach = isSelf ? matching : matching.filter(visibleTo(grants))
  const rest = after === '' ? reach : reach.filter((entry) => positionOf(entry) > after)
  const page = rest.slice(0, pageSizeOf(request))
  const last = page.at(-1)
  return messageReply(
    ListReachResponseSchema,
    create(ListReachResponseSchema, {
      entries: yield* entriesOf(yield* sourcesOf(subject, page), grants, undefined),
      nextPageToken: last && rest.length > page.length ? pageSeals.seal(query, [positionOf(last)]) : '',
      totalCount: BigInt(reach.length),
      ...(isSelf && limits && { limits: limitsOf(limits) }),
    }),
  )
}

/** Whether the caller may ask about others in the group of an entry. */
function visibleTo(grants: Grants): (entry: Reached) => boolean {
  const decide = openDecisions(grants.list)
  return ({ group }) => decide(askBits, group) !== noAccess
}

/**
 * The entries whose roles have all needed capabilities within the limits of a token. If no
 * capability is needed, the roles must have at least one within the limits. If there are no limits
 * either, all entries match.
 */
function* withCapabilities(
  reached: readonly Reached[],
  needed: readonly number[],
  limits: TokenLimits | undefined,
): Work<readonly Reached[]> {
  if (needed.length === 0 && !limits) return reached
  const bitsOf = yield* readBits(reached)
  return reached.filter(({ group, role }) => {
    const bits = bitsOf.get(role)
    if (!bits) return false
    const granted = limits ? withinLimits([{ group, bits }], limits) : [{ bits }]
    return granted.some((grant) => grant.bits.size > 0 && needed.every((bit) => grant.bits.has(bit)))
  })
}

/** A token with an empty list allows nothing. In the response, an empty list means that there is no such limit. */
export function limitsOf({ scopes, capabilities }: TokenLimits): MessageInitShape<typeof AccessLimitsSchema> {
  if (scopes?.length === 0 || capabilities?.length === 0) return { allowsNothing: true }
  return { scopes: [...(scopes ?? [])], capabilities: [...(capabilities ?? [])] }
}
