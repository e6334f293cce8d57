// Questions about access: who may do what, where, and why.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  AccessDecision,
  BatchCheckAccessRequest,
  CheckAccessRequest,
  ExplainAccessRequest,
  ListAccessRequest,
  ListReachRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import {
  AccessDecisionSchema,
  AccessExplanationSchema,
  AccessService,
  BatchCheckAccessResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { forever, noAccess } from '../../../policy/decide.ts'
import type { Call } from '../../../rpc/call.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { defineService } from '../../resource.ts'
import { answer } from './answer.ts'
import { answerAll } from './answer-all.ts'
import { explainAccess } from './explain.ts'
import { listAccess } from './list-access.ts'
import { listReach } from './list-reach.ts'

const accessMethods = ({ store, settings, maxListRows, pageSeals }: Dependencies) => ({
  checkAccess: ({ demand, request }: Call<CheckAccessRequest>) =>
    store.read(function* () {
      const end = yield* answer(settings, demand, request)
      return messageReply(AccessDecisionSchema, decisionOf(end))
    }),

  batchCheckAccess: ({ demand, request }: Call<BatchCheckAccessRequest>) =>
    store.read(function* () {
      const ends = yield* answerAll({ settings, maxListRows }, demand, request.questions)
      const response = create(BatchCheckAccessResponseSchema, { decisions: ends.map(decisionOf) })
      return messageReply(BatchCheckAccessResponseSchema, response)
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

function decisionOf(end: number): AccessDecision {
  const decision = create(AccessDecisionSchema, { allowed: end !== noAccess })
  if (end !== noAccess && end !== forever) decision.expireTime = timestampFromMs(end)
  return decision
}
