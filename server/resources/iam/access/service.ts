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
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { defineService } from '../../resource.ts'
import { answer } from './answer.ts'
import { answerAll } from './answer-all.ts'
import { decisionReply, decisionsReply } from './decision-reply.ts'
import { explainAccess } from './explain.ts'
import { listAccess } from './list-access.ts'
import { listReach } from './list-reach.ts'

const accessMethods = ({ store, settings, maxListRows, pageSeals }: Dependencies) => ({
  checkAccess: ({ demand, request }: Call<CheckAccessRequest>) =>
    store.read(function* () {
      return decisionReply(yield* answer(settings, demand, request))
    }),

  batchCheckAccess: ({ demand, request }: Call<BatchCheckAccessRequest>) =>
    store.read(function* () {
      return decisionsReply(yield* answerAll({ settings, maxListRows }, demand, request.questions))
    }),

  explainAccess: ({ demand, request }: Call<ExplainAccessRequest>) =>
    store.read(function* () {
      const explanation = yield* explainAccess(settings, demand, request)
      return messageReply(AccessExplanationSchema, explanation)
    }),

  listAccess: (call: Call<ListAccessRequest>) => store.read(() => listAccess({ pageSeals }, call)),

  listReach: (call: Call<ListReachRequest>) => store.read(() => listReach({ pageSeals }, call)),
})

export const accessService = defineService({ service: AccessService, methods: accessMethods })
