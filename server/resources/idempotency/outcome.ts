// The outcome of a create, as it is stored for its idempotency key: the response, or an error that is final.
import type { DescMessage } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import { Code } from '../../aip/code.ts'
import type { Detail, FieldViolation } from '../../aip/errors.ts'
import { replayedHeader, StatusError, textOf } from '../../aip/errors.ts'
import { writeJson } from '../../wire/json-writer.ts'
import type { Reply } from '../../wire/reply.ts'
import { asJson } from '../../wire/reply.ts'

export type Outcome = { reply: StoredReply } | { error: StoredError }

type StoredReply = Pick<Reply, 'warnings'> & { bytes: Uint8Array; etag: string | undefined }

type StoredError = {
  code: Code
  text: string
  details: Detail[]
  violations: FieldViolation[]
  metadata: Record<string, string>
  http: number
}

/**
 * Errors that the same request would get again. PERMISSION_DENIED is not among them, because access can be granted
 * later, and neither are temporary errors, such as a store that cannot be reached or a quota that is used up.
 */
const finalCodes = new Set<Code>([
  Code.INVALID_ARGUMENT,
  Code.NOT_FOUND,
  Code.ALREADY_EXISTS,
  Code.FAILED_PRECONDITION,
  Code.OUT_OF_RANGE,
])

export const isFinal = (error: unknown): error is StatusError =>
  error instanceof StatusError && finalCodes.has(error.code)

export const outcomeOfReply = (reply: Reply): Outcome => ({
  reply: { bytes: reply.bytes(), etag: reply.etag, warnings: reply.warnings },
})

export function outcomeOfError(error: StatusError): Outcome {
  const { code, details, violations, metadata, http } = error
  return { error: { code, text: textOf(error), details, violations, metadata, http } }
}

/** The first response and its replays are made by this function, so they are equal. Throws a stored error. */
export function replyOf(outcome: Outcome, desc: DescMessage, isReplayed: boolean): Reply {
  if ('error' in outcome) {
    const { code, text, ...options } = outcome.error
    throw new StatusError(code, text, { ...options, headers: isReplayed ? { [replayedHeader]: 'true' } : {} })
  }
  const { bytes, etag, warnings } = outcome.reply
  return {
    bytes: () => bytes,
    json: () => asJson(writeJson(desc, fromBinary(desc, bytes))),
    ...(etag !== undefined && { etag }),
    ...(isReplayed && { isReplayed }),
    ...(warnings && { warnings }),
  }
}

/** A line of JSON, followed by the bytes of the message if the outcome is a response. */
export function encodeOutcome(outcome: Outcome): Uint8Array {
  if ('error' in outcome) return Buffer.from(`${JSON.stringify({ error: outcome.error })}\n`)
  const { bytes, etag, warnings } = outcome.reply
  return Buffer.concat([Buffer.from(`${JSON.stringify({ etag, warnings })}\n`), bytes])
}

type StoredHead = Pick<Reply, 'etag' | 'warnings'> & { error?: StoredError }

export function decodeOutcome(encoded: Buffer): Outcome {
  const end = encoded.indexOf('\n')
  // As `encodeOutcome` wrote it: the row is authenticated by its encryption.
  const head = JSON.parse(encoded.toString('utf8', 0, end)) as StoredHead
  if (head.error) return { error: head.error }
  return { reply: { bytes: encoded.subarray(end + 1), etag: head.etag, warnings: head.warnings } }
}
