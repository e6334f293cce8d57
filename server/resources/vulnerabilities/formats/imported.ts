// What the readers of foreign records make of them.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEvent_DetectionSchema,
  AdvisoryEventSchema,
  AdvisorySchema,
  ReviewState,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { rulesOf } from '@stemma/api/method.ts'

/** An advisory as a record of others tells it: one for each affected package. */
export type Imported = {
  /** Names the format, the record and its part, the same at every import, e.g. `osv:GHSA-xxxx:npm/left-pad`. */
  source: string
  /** The foreign record as compact JSON text, without its parts about other packages; `:osv` starts from it. */
  record: string
  draft: Advisory
  /** The package that the artifact is built from, where the record says it; else ''. */
  origin: string
  /** When it was published, changed, withdrawn, in milliseconds. */
  createTime: number
  updateTime: number
  withdrawTime: number | undefined
}

/** What is wrong with a record: told to the operator with where it stands. */
export class RecordError extends Error {}

/** Why a reader answers with nothing: such records are passed over, not refused. */
export const nothingToImport = 'it names no package that is affected'

/** More events than an advisory can hold are told by the latest of them. */
export const mostEvents = rulesOf(AdvisorySchema.field.events).maxItems

export type Happening = NonNullable<MessageInitShape<typeof AdvisoryEventSchema>['type']>

/** What a published record says needs no review. */
export const approvedEvent = (author: string, time: number, type: Happening): AdvisoryEvent =>
  create(AdvisoryEventSchema, {
    author,
    createTime: timestampFromMs(time),
    reviewState: ReviewState.APPROVED,
    type,
  })

/** One for all, since most records need one and nobody changes a part of an event in place. */
export const foundByPeople: Happening = {
  case: 'detection',
  value: create(AdvisoryEvent_DetectionSchema, { type: { case: 'manual', value: {} } }),
}
