// Replies with decisions. Most are `allowed`, without an expiry, or `denied`. These two messages
// are made and encoded once, because making and encoding a message takes longer than a decision.
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { AccessDecision } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import {
  AccessDecisionSchema,
  BatchCheckAccessResponseSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { forever, noAccess } from '../../../policy/decide.ts'
import { writeJson } from '../../../wire/json-writer.ts'
import type { Reply } from '../../../wire/reply.ts'
import { asJson, messageReply } from '../../../wire/reply.ts'

const allowed = create(AccessDecisionSchema, { allowed: true })
const denied = create(AccessDecisionSchema)

function decisionOf(end: number): AccessDecision {
  if (end === forever) return allowed
  if (end === noAccess) return denied
  return create(AccessDecisionSchema, { allowed: true, expireTime: timestampFromMs(end) })
}

export function decisionReply(end: number): Reply {
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

/** The bytes of a response with one decision. Several, concatenated, are a response with all of their decisions. */
const encodeOne = (decision: AccessDecision) =>
  toBinary(BatchCheckAccessResponseSchema, create(BatchCheckAccessResponseSchema, { decisions: [decision] }))

const allowedBytes = encodeOne(allowed)
const deniedBytes = encodeOne(denied)

function bytesOf(end: number): Uint8Array {
  if (end === forever) return allowedBytes
  return end === noAccess ? deniedBytes : encodeOne(decisionOf(end))
}

export const decisionsReply = (ends: readonly number[]): Reply => ({
  json() {
    const response = create(BatchCheckAccessResponseSchema, { decisions: ends.map(decisionOf) })
    return asJson(writeJson(BatchCheckAccessResponseSchema, response))
  },
  bytes: () => Buffer.concat(ends.map(bytesOf)),
})
