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
import type { Reply } from '../../../wire/reply.ts'
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
      return decisionReply(end)
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

/** Most answers are one of these two, so they are made and encoded once. */
const allowed = create(AccessDecisionSchema, { allowed: true })
const denied = create(AccessDecisionSchema)

function decisionOf(end: number): AccessDecision {
  if (end === forever) return allowed
  if (end === noAccess) return denied
  return create(AccessDecisionSchema, { allowed: true, expireTime: timestampFromMs(end) })
}

function decisionReply(end: number): Reply {
  if (end === forever) return allowedReply
  return end === noAccess ? deniedReply : messageReply(AccessDecisionSchema, decisionOf(end))
}

function encodedReply(decision: AccessDecision): Reply {
  const reply = messageReply(AccessDecisionSchema, decision)
  const [json, bytes] = [reply.json(), reply.bytes()]
  return { json: () => json, bytes: () => bytes }
}

const allowedReply = encodedReply(allowed)
const deniedReply = encodedReply(denied)
