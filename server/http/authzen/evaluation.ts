// Answers evaluations (AuthZEN 1.0 sections 6 and 7).
import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  AccessDecision,
  BatchCheckAccessRequestSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import type { AnswerRequest, CallApi } from './answer-request.ts'
import { readQuestion } from './entities.ts'
import type { Decision, Evaluation, Evaluations } from './evaluations.ts'
import { denied, failed, isFault, readEvaluations, resultsOf } from './evaluations.ts'
import type { CheckInit, Names } from './names.ts'
import { checkOf } from './names.ts'

export const answerEvaluation: AnswerRequest = async (call, names) => {
  let prepared: CheckInit | Decision = harmlessQuestion
  const answer = await call(AccessService.method.checkAccess, (body) => {
    prepared = questionOrDecision(names, readQuestion(body))
    return isQuestion(prepared) ? prepared : harmlessQuestion
  })
  return isQuestion(prepared) ? decisionOf(prepared, answer) : prepared
}

export const answerEvaluations: AnswerRequest = async (call, names) => {
  let batch: Evaluations | undefined
  const decisions = await decide(call, names, (body) => {
    batch = readEvaluations(body)
    return batch?.evaluations ?? [readQuestion(body)]
  })
  return batch ? { evaluations: resultsOf(batch.semantic, decisions) } : decisions[0]
}

/** All evaluations are decided in one call, from one snapshot. */
async function decide(
  call: CallApi,
  names: Names,
  read: (body: Parameters<typeof readQuestion>[0]) => Evaluation[],
): Promise<Decision[]> {
  let prepared: (CheckInit | Decision)[] = []
  const { decisions } = await call(AccessService.method.batchCheckAccess, (body) => {
    prepared = read(body).map((evaluation) => questionOrDecision(names, evaluation))
    return batchOf(prepared.filter(isQuestion))
  })
  const remaining = [...decisions]
  return prepared.map((one) => (isQuestion(one) ? decisionOf(one, remaining.shift()) : one))
}

/** The question to the API, or the decision if the evaluation can be decided without the API. */
function questionOrDecision(names: Names, evaluation: Evaluation): CheckInit | Decision {
  if (isFault(evaluation)) return failed(evaluation)
  const check = checkOf(names, evaluation)
  return typeof check === 'string' ? denied(check) : check
}

const isQuestion = (prepared: CheckInit | Decision): prepared is CheckInit => !('decision' in prepared)

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
