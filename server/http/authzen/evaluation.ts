// Answers evaluations (AuthZEN 1.0 sections 6 and 7).
import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  AccessDecision,
  BatchCheckAccessRequestSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import type { Ask, CallApi } from './ask.ts'
import { readQuestion } from './entities.ts'
import type { Decision, Evaluation, Evaluations } from './evaluations.ts'
import { denied, failed, isFault, readEvaluations, resultsOf } from './evaluations.ts'
import type { CheckInit, Names } from './names.ts'
import { checkOf } from './names.ts'

export const answerEvaluation: Ask = async (call, names) => {
  let part: CheckInit | Decision = harmlessQuestion
  const answer = await call(AccessService.method.checkAccess, (body) => {
    part = partOf(names, readQuestion(body))
    return isQuestion(part) ? part : harmlessQuestion
  })
  return isQuestion(part) ? decisionOf(part, answer) : part
}

export const answerEvaluations: Ask = async (call, names) => {
  let batch: Evaluations | undefined
  const decisions = await decide(call, names, (body) => {
    batch = readEvaluations(body)
    return batch?.evaluations ?? [readQuestion(body)]
  })
  return batch ? { evaluations: resultsOf(batch.semantic, decisions) } : decisions[0]
}

/** All evaluations are decided in one call, at the same time. */
async function decide(
  call: CallApi,
  names: Names,
  read: (body: Parameters<typeof readQuestion>[0]) => Evaluation[],
): Promise<Decision[]> {
  /** For each evaluation, the question to the API, or the decision if it needs none. */
  let parts: (CheckInit | Decision)[] = []
  const { decisions } = await call(AccessService.method.batchCheckAccess, (body) => {
    parts = read(body).map((evaluation) => partOf(names, evaluation))
    return batchOf(parts.filter(isQuestion))
  })
  const remaining = [...decisions]
  return parts.map((part) => (isQuestion(part) ? decisionOf(part, remaining.shift()) : part))
}

function partOf(names: Names, evaluation: Evaluation): CheckInit | Decision {
  if (isFault(evaluation)) return failed(evaluation)
  const check = checkOf(names, evaluation)
  return typeof check === 'string' ? denied(check) : check
}

const isQuestion = (part: CheckInit | Decision): part is CheckInit => !('decision' in part)

export const batchOf = (questions: CheckInit[]): MessageInitShape<typeof BatchCheckAccessRequestSchema> => ({
  questions: questions.length > 0 ? questions : [harmlessQuestion],
})

/**
 * A question that everybody may ask, for requests that are decided without the API: their clients must still be
 * authenticated and counted.
 */
const harmlessQuestion: CheckInit = { method: describeMethod(GroupsService.method.listGroups).name }

const decisionOf = ({ capability, method }: CheckInit, answer: AccessDecision | undefined): Decision =>
  answer?.allowed
    ? { decision: true }
    : denied(
        capability
          ? `the subject does not have ${capability} at the resource`
          : `the subject may not call ${method} at the resource`,
      )
