// Converts advisories and their events between v1 and v2. The store contains v2 messages.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type {
  Advisory as V1Advisory,
  AdvisoryEvent as V1Event,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisorySchema as V1AdvisorySchema,
  AdvisoryEventSchema as V1EventSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  AdvisorySchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

/** The v2 advisory without the fields that only the server sets. */
export const advisoryFromV1 = (advisory: V1Advisory): Advisory =>
  create(AdvisorySchema, {
    ...writableFields(advisory),
    advisoryId: advisory.advisoryId,
    events: advisory.events.map(eventFromV1),
  })

/** Replaces all fields that callers can change, except the events. */
export function replaceFields(advisory: Advisory, replacement: V1Advisory): void {
  delete advisory.legacyAdvisoryId
  Object.assign(advisory, writableFields(replacement))
}

const writableFields = (advisory: V1Advisory) => ({
  author: advisory.author,
  artifactName: advisory.artifactName,
  artifactType: advisory.artifactType,
  artifactArchitecture: advisory.artifactArchitecture,
  componentName: advisory.componentName ?? '',
  componentLocation: advisory.componentLocation ?? '',
  componentType: advisory.componentType ?? '',
  aliases: [...advisory.aliases],
  ...(advisory.legacyAdvisoryId && { legacyAdvisoryId: advisory.legacyAdvisoryId }),
})

/** The v2 event without its uid, which the server sets. */
export function eventFromV1(v1Event: V1Event): AdvisoryEvent {
  const { findings, author, reviewer, status, timestamp, issue } = v1Event
  const event = create(AdvisoryEventSchema, {
    ...{ findings, author, reviewer, reviewState: status },
    ...(timestamp && { createTime: timestamp }),
    ...(issue && { issue }),
  })
  copyType(reflect(V1EventSchema, v1Event), reflect(AdvisoryEventSchema, event))
  return event
}

export function advisoryToV1(advisory: Advisory): V1Advisory {
  const { createTime, updateTime, deleteTime, legacyAdvisoryId } = advisory
  const { componentName, componentLocation, componentType } = advisory
  return create(V1AdvisorySchema, {
    id: advisory.uid,
    advisoryId: advisory.advisoryId,
    author: advisory.author,
    artifactName: advisory.artifactName,
    artifactType: advisory.artifactType,
    artifactArchitecture: advisory.artifactArchitecture,
    aliases: advisory.aliases,
    events: advisory.events.map(eventToV1),
    ...(componentName && { componentName }),
    ...(componentLocation && { componentLocation }),
    ...(componentType && { componentType }),
    ...(createTime && { createdAt: createTime }),
    ...(updateTime && { updatedAt: updateTime }),
    ...(deleteTime && { deletedAt: deleteTime }),
    ...(legacyAdvisoryId && { legacyAdvisoryId }),
  })
}

export function eventToV1(event: AdvisoryEvent): V1Event {
  const { uid, findings, author, reviewer, reviewState, createTime, issue } = event
  const v1Event = create(V1EventSchema, {
    ...{ id: uid, findings, author, reviewer, status: reviewState },
    ...(createTime && { timestamp: createTime }),
    ...(issue && { issue }),
  })
  copyType(reflect(AdvisoryEventSchema, event), reflect(V1EventSchema, v1Event))
  return v1Event
}

/**
 * Copies the type of an event as bytes. In both versions, the fields of the oneof have the same
 * names, and the fields of its messages have the same numbers.
 */
function copyType(from: ReflectMessage, to: ReflectMessage): void {
  const source = from.fields.find((field) => field.oneof && from.isSet(field))
  const target = to.fields.find(({ name }) => name === source?.name)
  if (source?.fieldKind !== 'message' || target?.fieldKind !== 'message') return
  const bytes = toBinary(source.message, from.get(source).message)
  to.set(target, reflect(target.message, fromBinary(target.message, bytes)))
}
