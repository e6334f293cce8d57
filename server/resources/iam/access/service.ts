// Questions about access: who may do what, where, and why.
import type {
  BatchCheckAccessRequest,
  CheckAccessRequest,
  ExplainAccessRequest,
  ListAccessRequest,
  ListReachRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccessExplanationSchema, AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { defineService } from '../../resource.ts'
import type { AnswerSettings } from './answer.ts'
import { answer } from './answer.ts'
import type { AnswerAllOptions } from './answer-all.ts'
import { answerAll } from './answer-all.ts'
import { decisionReply, decisionsReply } from './decision-reply.ts'
import { explainAccess } from './explain.ts'
import { listAccess } from './list-access.ts'
import { listReach } from './list-reach.ts'

const accessMethods = ({ store, settings, maxListRows, pageSeals }: Dependencies) => ({
  checkAccess: (call: Call<CheckAccessRequest>) => store.read(() => check(settings, call)),

  batchCheckAccess: (call: Call<BatchCheckAccessRequest>) =>
    store.read(() => checkAll({ settings, maxListRows }, call)),

  explainAccess: (call: Call<ExplainAccessRequest>) => store.read(() => explain(settings, call)),

  listAccess: (call: Call<ListAccessRequest>) => store.read(() => listAccess({ pageSeals }, call)),

  listReach: (call: Call<ListReachRequest>) => store.read(() => listReach({ pageSeals }, call)),
})

function* check(settings: AnswerSettings, { demand, request }: Call<CheckAccessRequest>): Work<Reply> {
  return decisionReply(yield* answer(settings, demand, request))
}

function* checkAll(
  options: AnswerAllOptions,
  { demand, request }: Call<BatchCheckAccessRequest>,
): Work<Reply> {
  return decisionsReply(yield* answerAll(options, demand, request.questions))
}

function* explain(settings: AnswerSettings, { demand, request }: Call<ExplainAccessRequest>): Work<Reply> {
  return messageReply(AccessExplanationSchema, yield* explainAccess(settings, demand, request))
}

export const accessService = defineService({ service: AccessService, methods: accessMethods })
