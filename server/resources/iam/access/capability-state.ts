import { CapabilityState } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { latestEnd, noAccess } from '../../../policy/decide.ts'
import type { Grant } from '../../../policy/grants.ts'
import { withinLimits } from '../../../policy/grants.ts'
import type { TokenLimits } from '../../../wire/caller.ts'
import type { OwnSource } from './source.ts'
import { groupOf } from './source.ts'

/** Whether sources give a capability at a uid, or in any group if `uid` is undefined, and until when. */
export function stateOf(
  bit: number,
  sources: readonly OwnSource[],
  limits: TokenLimits | undefined,
  uid: string | undefined,
): { state: CapabilityState; end: number } {
  const endOf = (list: readonly Grant[]) => latestEnd(list, bit, uid)
  const active = sources.filter(({ isSuspended }) => !isSuspended).map(grantOf)
  const end = endOf(limits ? withinLimits(active, limits) : active)
  if (end !== noAccess) return { state: CapabilityState.HELD, end }
  if (endOf(active) !== noAccess) return { state: CapabilityState.OUTSIDE_TOKEN, end }
  if (endOf(sources.map(grantOf)) !== noAccess) return { state: CapabilityState.SUSPENDED, end }
  return { state: CapabilityState.MISSING, end }
}

const grantOf = (source: OwnSource): Grant => ({
  ...{ group: groupOf(source), bits: source.bits, until: source.until },
})
