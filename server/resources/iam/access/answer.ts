// Answers questions about access. The answer is the time at which the access ends (see policy/decide.ts).
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { invalidArgument, StatusError } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { capabilityOf } from '../../../policy/capabilities.ts'
import { accessEnd, forever, noAccess, openDecisions } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { mayOperate } from '../../../policy/operators.ts'
import { readGrantsOf } from '../../../policy/read-grants.ts'
import type { Work } from '../../../store/work.ts'
import type { Settings } from '../../dependencies.ts'
import { requireMayCreateOrganizations } from '../organization.ts'
import type { Need, Question } from './need.ts'
import { needOf, placeOf } from './need.ts'
import { resolveOwnBindings } from './own-bindings.ts'

/** The capabilities that a caller needs at a place to ask about the access of others there. */
export const askCapabilities = [Capability.CAP_IAM_ROLE_BINDINGS_LIST, Capability.CAP_IAM_IDENTITY_LIST]
export const askBits = askCapabilities.flatMap((number) => capabilityOf(number)?.bit ?? [])

export type AnswerSettings = Pick<Settings, 'organizationCreation'>

/** A question that the caller may ask. */
export type Admitted = {
  /** The uid of the identity that it is about. */
  identity: string
  /** Whether it is about the caller. */
  isSelf: boolean
  need: Need
  /** The uid of the resource; empty if the question names none. */
  place: string
  /** The grants of the caller: at the place, or all if `isSelf` and the need is of another kind than `at`. */
  grants: Grants
}

/** Checks that the caller may ask a question, and that the question is valid. */
export function* admitToAsk(demand: Demand, asked: Question): Work<Admitted> {
  const { identity: self } = demand.caller
  const isSelf = asked.identity === '' || asked.identity === self
  const need = needOf(asked, isSelf ? self : undefined)
  const place = placeOf(asked)
  const grants = yield* admitToRead({
    ...demand,
    isScopeOptional: true,
    scope: isSelf && need.kind !== 'at' ? '' : place,
    capabilities: isSelf ? [] : askCapabilities,
    fault: demand.fault ?? faultOf(need),
  })
  const identity = isSelf ? self : asked.identity
  const [resolved = need] = yield* resolveOwnBindings(demand.caller, grants.time, [need], () => identity)
  return { identity, isSelf, need: resolved, place, grants }
}

/** Answers one question, after it has checked that the caller may ask it. */
export function* answer(settings: AnswerSettings, demand: Demand, asked: Question): Work<number> {
  return yield* answerAdmitted(settings, demand, yield* admitToAsk(demand, asked))
}

export function* answerAdmitted(
  settings: AnswerSettings,
  { parseGrants }: Pick<Demand, 'parseGrants'>,
  { identity, isSelf, need, place, grants }: Admitted,
): Work<number> {
  // The need is `never`, and the question need not name a resource, so there may be no scope to read grants for.
  if (!isSelf && need.kind !== 'at') return noAccess
  const list = isSelf ? grants.list : yield* readGrantsOf(identity, grants.time, place, parseGrants)
  if (need.kind === 'at') return Math.max(accessEnd(list, need.bits, need.uid), need.ownUntil ?? noAccess)
  return yield* accessEndWithoutPlace(settings, need, { ...grants, list })
}

const faultOf = (need: Need) => (need.kind === 'wrong' ? invalidArgument(need.violation) : undefined)

/**
 * The answer for a need of another kind than `at`, from all grants of the caller. A need of another
 * identity can only be `at` or `never`.
 */
export function* accessEndWithoutPlace(settings: AnswerSettings, need: Need, grants: Grants): Work<number> {
  if (need.kind === 'self') {
    const { identity, limits } = grants.caller
    return limits || (need.isForPeople && parentOf(identity) !== '') ? noAccess : forever
  }
  if (need.kind === 'operators') return (yield* mayOperate(grants.caller)) ? forever : noAccess
  if (need.kind === 'organizations' && !(yield* mayCreateOrganizations(settings, grants))) return noAccess
  if (need.kind === 'organizations' && need.bits.length === 0) return forever
  if (need.kind !== 'anywhere' && need.kind !== 'organizations') return noAccess
  const decide = openDecisions(grants.list)
  return Math.max(noAccess, ...grants.list.map(({ group }) => decide(need.bits, group)))
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
