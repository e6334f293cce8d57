// Answers many questions about access in one transaction: it reads the grants of each identity once, and decides all
// questions in memory.
import { invalidArgument, permissionDenied, TooExpensive } from '../../../aip/errors.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { AccessEnd } from '../../../policy/decide.ts'
import { noAccess, openDecisions } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import { readGrantsOfAll } from '../../../policy/read-grants-of-all.ts'
import type { Work } from '../../../store/work.ts'
import type { AnswerSettings } from './answer.ts'
import { accessEndWithoutPlace, askBits, askCapabilities } from './answer.ts'
import type { Need, Question } from './need.ts'
import { needOf, placeOf } from './need.ts'
import { resolveOwnBindings } from './own-bindings.ts'

/** A call about more identities runs in the lane. There, `maxListRows` is undefined. */
const maxIdentities = 20

export type AnswerAllOptions = { settings: AnswerSettings; maxListRows: number | undefined }

/**
 * Returns for each question the time at which the access ends, or `noAccess` (policy/decide.ts).
 * Throws if the caller may not ask one of the questions, or if one is invalid.
 */
export function* answerAll(
  { settings, maxListRows }: AnswerAllOptions,
  demand: Demand,
  questions: readonly Question[],
): Work<number[]> {
  const { caller } = demand
  const grants = yield* admitToRead({ ...demand, scope: '', isScopeOptional: true, fault: undefined })
  const decideForCaller = openDecisions(grants.list)
  const others = otherIdentities(questions, caller.identity)
  requireMayAsk(grants, decideForCaller, questions, demand.fault !== undefined)
  if (demand.fault) throw demand.fault
  const askedNeeds = questions.map((question, at) => validNeedOf(question, at, caller.identity))
  if (maxListRows !== undefined && others.length > maxIdentities) throw new TooExpensive()
  const lists = yield* readGrantsOfAll(others, grants.time, demand.parseGrants)
  const identityOf = (at: number) => questions[at]?.identity || caller.identity
  const needs = yield* resolveOwnBindings(caller, grants.time, askedNeeds, identityOf)
  const decisions = new Map(others.map((uid) => [uid, openDecisions(lists.get(uid) ?? [])]))
  const ends: number[] = []
  for (let at = 0; at < questions.length; at++) {
    const need = needs[at] as Need // there is one need per question
    const decide = decisions.get(questions[at]?.identity ?? '') ?? decideForCaller
    ends.push(
      need.kind === 'at'
        ? Math.max(decide(need.bits, need.uid), need.ownUntil ?? noAccess)
        : yield* accessEndWithoutPlace(settings, need, grants),
    )
  }
  return ends
}

function otherIdentities(questions: readonly Question[], self: string): string[] {
  const identities = new Set<string>()
  for (const { identity } of questions) identities.add(identity)
  identities.delete('')
  identities.delete(self)
  return [...identities]
}

/**
 * Access is checked for all questions before an error in one of them is reported. Without
 * `hasFaults`, each resource is known to be a uid or empty, and is not checked again: that would
 * take as long as the decision.
 */
function requireMayAsk(
  grants: Grants,
  decideForCaller: AccessEnd,
  questions: readonly Question[],
  hasFaults: boolean,
): void {
  const { identity: self } = grants.caller
  for (const question of questions) {
    if (question.identity === '' || question.identity === self) continue
    const place = hasFaults ? placeOf(question) : question.resource
    if (place === '' || decideForCaller(askBits, place) !== noAccess) continue
    const missing = askCapabilities.find((capability) => !holds(grants, [capability], place)) ?? 0
    throw permissionDenied(nameOf(missing), place)
  }
}

function validNeedOf(asked: Question, at: number, self: string): Need {
  const need = needOf(asked, asked.identity === '' || asked.identity === self ? self : undefined)
  if (need.kind !== 'wrong') return need
  const { violation } = need
  throw invalidArgument({ ...violation, field: `questions[${at}].${violation.field}` })
}
