import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import {
  ReviewStatusSchema,
  AdvisoryEventSchema as V1EventSchema,
  EventTypeFilterSchema as V1EventTypesSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  EventTypeFilterSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

/** The wire format of a message: numbers and types, without names. */
const layoutOf = ({ fields }: DescMessage): unknown[] =>
  fields.map((field) => [field.number, field.fieldKind, field.scalar, nestedLayoutOf(field)]).sort()

function nestedLayoutOf({ message, enum: values }: DescField): unknown {
  return message ? layoutOf(message) : values?.values.map(({ number }) => number)
}

/** The layout of each message in the oneof of event types. */
const typesOf = ({ fields }: DescMessage) =>
  Object.fromEntries(
    fields.flatMap((field) => (field.oneof && field.message ? [[field.name, layoutOf(field.message)]] : [])),
  )

describe('events of v1 and v2', () => {
  test('have the same wire format for their types, so that bytes can be copied', () => {
    assert.equal(Object.keys(typesOf(V1EventSchema)).length, 9)
    assert.deepEqual(typesOf(V1EventSchema), typesOf(AdvisoryEventSchema))
  })

  test('have the same names and numbers for the types in filters', () => {
    const namesOf = ({ values }: typeof EventTypeFilterSchema) =>
      values.map(({ number, name }) => [number, name])
    assert.deepEqual(namesOf(V1EventTypesSchema), namesOf(EventTypeFilterSchema))
  })

  test('have the same numbers for review states', () => {
    const [states, statuses] = [ReviewStateSchema.values, ReviewStatusSchema.values]
    assert.deepEqual(
      statuses.map(({ number, name }) => [number, name]).slice(1),
      states.map(({ number, name }) => [number, name.replace('REVIEW_STATE_', '')]).slice(1),
    )
  })
})
