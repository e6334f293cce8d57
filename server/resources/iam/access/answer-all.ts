// Answers many questions about access in one transaction: it reads the grants of each identity once, and decides all
// questions in memory.
import { invalidArgument, permissionDenied, TooExpensive } from '../../../aip/errors.ts'
import type { Demand } from '../../../policy/admit.ts'
import { admitToRead } from '../../../policy/admit.ts'
import { nameOf } from '../../../policy/capabilities.ts'
import type { GrantIndex } from '../../../policy/decide.ts'
import { accessEnd, indexByGroup, noAccess } from '../../../policy/decide.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import { readGrantsOfAll } from '../../../policy/read-grants-of-all.ts'
import type { Work } from '../../../store/work.ts'
import type { AnswerSettings } from './answer.ts'
import { askBits, askCapabilities, endOf } from './answer.ts'
import type { Need, Question } from './need.ts'
import { needOf, placeOf } from './need.ts'

/** Grants of more identities than this are read by another thread, if there is one. */
const maxIdentities = 20

export type AnswerAllOptions = { settings: AnswerSettings; maxListRows: number | undefined }

/** Answers in the order of the questions. Throws if the caller may not ask one of them, or if one is wrong. */
export function* answerAll(
  { settings, maxListRows }: AnswerAllOptions,
  demand: Demand,
  questions: readonly Question[],
): Work<number[]> {
  const { caller } = demand
  const grants = yield* admitToRead({ ...demand, scope: '', isScopeOptional: true, fault: undefined })
  const own = indexByGroup(grants.list)
  const others = otherIdentities(questions, caller.identity)
  requireMayAsk(grants, own, questions)
  if (demand.fault) throw demand.fault
  const needs = questions.map((question, at) => requiredNeed(question, at, caller.identity))
  if (maxListRows !== undefined && others.length > maxIdentities) throw new TooExpensive()
  const lists = yield* readGrantsOfAll(others, grants.time, demand.parseGrants)
  const indexes = new Map(others.map((uid) => [uid, indexByGroup(lists.get(uid) ?? [])]))
  const ends: number[] = []
  for (const [at, need] of needs.entries()) {
    const index = indexes.get(questions[at]?.identity ?? '') ?? own
    ends.push(
      need.kind === 'at'
        ? accessEnd(index, need.bits, need.uid)
        : yield* endOf(settings, need, grants, index),
    )
  }
  return ends
}

function otherIdentities(questions: readonly Question[], self: string): string[] {
  const identities = new Set(questions.map(({ identity }) => identity))
  identities.delete('')
  identities.delete(self)
  return [...identities]
}

/** Access is checked for all questions before any of them is found wrong. */
function requireMayAsk(grants: Grants, own: GrantIndex, questions: readonly Question[]): void {
  const { identity: self } = grants.caller
  for (const question of questions) {
    if (question.identity === '' || question.identity === self) continue
    const place = placeOf(question)
    if (place === '' || accessEnd(own, askBits, place) !== noAccess) continue
    const missing = askCapabilities.find((capability) => !holds(grants, [capability], place)) ?? 0
    throw permissionDenied(nameOf(missing), place)
  }
}

function requiredNeed(asked: Question, at: number, self: string): Need {
  const isSelf = asked.identity === '' || asked.identity === self
  const need = needOf(isSelf ? { ...asked, identity: self } : asked, isSelf)
  if (need.kind !== 'wrong') return need
  const { violation } = need
  throw invalidArgument({ ...violation, field: `questions[${at}].${violation.field}` })
}
