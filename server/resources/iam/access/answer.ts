// Answers questions about access. The answer is the time at which the access ends (see policy/decide.ts).
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { invalidArgument, StatusError } from '../../../aip/errors.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { capabilityOf } from '../../../policy/capabilities.ts'
import type { GrantIndex } from '../../../policy/decide.ts'
import { accessEnd, forever, indexByGroup, noAccess } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { readGrantsOf } from '../../../policy/read-grants.ts'
import type { Work } from '../../../store/work.ts'
import type { Settings } from '../../dependencies.ts'
import { requireMayCreateOrganizations } from '../organization.ts'
import type { Need, Question } from './need.ts'
import { needOf, placeOf } from './need.ts'

/** What a caller needs at a place to ask about the access of others there. */
export const askCapabilities = [Capability.CAP_IAM_ROLE_BINDINGS_LIST, Capability.CAP_IAM_IDENTITY_LIST]
export const askBits = askCapabilities.flatMap((number) => capabilityOf(number)?.bit ?? [])

export type AnswerSettings = Pick<Settings, 'organizationCreation'>

/** Answers one question, after it has checked that the caller may ask it. An empty identity is that of the caller. */
export function* answer(settings: AnswerSettings, demand: Demand, asked: Question): Work<number> {
  const isSelf = asked.identity === '' || asked.identity === demand.caller.identity
  const question = isSelf ? { ...asked, identity: demand.caller.identity } : asked
  const need = needOf(question, isSelf)
  const place = placeOf(question)
  const grants = yield* admitToRead({
    ...demand,
    isScopeOptional: true,
    scope: isSelf && need.kind !== 'at' ? '' : place,
    capabilities: isSelf ? [] : askCapabilities,
    fault: demand.fault ?? faultOf(need),
  })
  if (isSelf) return yield* endOf(settings, need, grants, indexByGroup(grants.list))
  const list = yield* readGrantsOf(question.identity, grants.time, place, demand.parseGrants)
  return yield* endOf(settings, need, { ...grants, list }, indexByGroup(list))
}

const faultOf = (need: Need) => (need.kind === 'wrong' ? invalidArgument(need.violation) : undefined)

/** `index` contains the grants that the need is compared with. */
export function* endOf(
  settings: AnswerSettings,
  need: Need,
  grants: Grants,
  index: GrantIndex,
): Work<number> {
  switch (need.kind) {
    case 'at':
      return accessEnd(index, need.bits, need.uid)
    case 'anywhere':
      return Math.max(noAccess, ...[...index.keys()].map((group) => accessEnd(index, need.bits, group)))
    case 'organizations':
      return (yield* mayCreateOrganizations(settings, grants)) ? forever : noAccess
    default:
      return noAccess
  }
}

function* mayCreateOrganizations(settings: AnswerSettings, grants: Grants): Work<boolean> {
  try {
    yield* requireMayCreateOrganizations(settings, grants)
    return true
  } catch (error) {
    if (error instanceof StatusError) return false
    throw error
  }
}
