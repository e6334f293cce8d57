import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import {
  AdvisoryEventSchema as OldEventSchema,
  ReviewStatusSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

/** What the bytes of a message tell: numbers and sorts, whatever the names. */
const layoutOf = ({ fields }: DescMessage): unknown[] =>
  fields.map((field) => [field.number, field.fieldKind, field.scalar, insideOf(field)]).sort()

function insideOf({ message, enum: values }: DescField): unknown {
  return message ? layoutOf(message) : values?.values.map(({ number }) => number)
}

const typesOf = ({ fields }: DescMessage) =>
  Object.fromEntries(
    fields.flatMap((field) => (field.oneof && field.message ? [[field.name, layoutOf(field.message)]] : [])),
  )

describe('the two versions of an event', () => {
  test('lay out what has happened alike, so that bytes carry it over', () => {
    assert.equal(Object.keys(typesOf(OldEventSchema)).length, 8)
    assert.deepEqual(typesOf(OldEventSchema), typesOf(AdvisoryEventSchema))
  })

  test('number what reviewers think alike', () => {
    const [states, statuses] = [ReviewStateSchema.values, ReviewStatusSchema.values]
    assert.deepEqual(
      statuses.map(({ number, name }) => [number, name]).slice(1),
      states.map(({ number, name }) => [number, name.replace('REVIEW_STATE_', '')]).slice(1),
    )
  })
})
