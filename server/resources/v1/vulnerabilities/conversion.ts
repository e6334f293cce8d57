// Advisories of v1 made into those of v2, which are kept, and the other way round.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type {
  Advisory as OldAdvisory,
  AdvisoryEvent as OldEvent,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisorySchema as OldAdvisorySchema,
  AdvisoryEventSchema as OldEventSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoryEventSchema,
  AdvisorySchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

/** As it may be created: without what only the service sets. */
export const draftOf = (old: OldAdvisory): Advisory =>
  create(AdvisorySchema, {
    ...saidBy(old),
    advisoryId: old.advisoryId,
    events: old.events.map(eventOf),
  })

/** Puts what v1 says in the place of what an advisory said; its events stay. */
export function replaceSaid(advisory: Advisory, old: OldAdvisory): void {
  delete advisory.legacyAdvisoryId
  Object.assign(advisory, saidBy(old))
}

const saidBy = (old: OldAdvisory) => ({
  author: old.author,
  artifactName: old.artifactName,
  artifactType: old.artifactType,
  artifactArchitecture: old.artifactArchitecture,
  componentName: old.componentName ?? '',
  componentLocation: old.componentLocation ?? '',
  componentType: old.componentType ?? '',
  aliases: [...old.aliases],
  ...(old.legacyAdvisoryId && { legacyAdvisoryId: old.legacyAdvisoryId }),
})

/** Its uid is not taken over: whoever writes it knows which it has. */
export function eventOf(old: OldEvent): AdvisoryEvent {
  const { findings, author, reviewer, status, timestamp, issue } = old
  const event = create(AdvisoryEventSchema, {
    ...{ findings, author, reviewer, reviewState: status },
    ...(timestamp && { createTime: timestamp }),
    ...(issue && { issue }),
  })
  copyType(reflect(OldEventSchema, old), reflect(AdvisoryEventSchema, event))
  return event
}

export function oldAdvisoryOf(advisory: Advisory): OldAdvisory {
  const { createTime, updateTime, deleteTime, legacyAdvisoryId } = advisory
  const { componentName, componentLocation, componentType } = advisory
  return create(OldAdvisorySchema, {
    id: advisory.uid,
    advisoryId: advisory.advisoryId,
    author: advisory.author,
    artifactName: advisory.artifactName,
    artifactType: advisory.artifactType,
    artifactArchitecture: advisory.artifactArchitecture,
    aliases: advisory.aliases,
    events: advisory.events.map(oldEventOf),
    ...(componentName && { componentName }),
    ...(componentLocation && { componentLocation }),
    ...(componentType && { componentType }),
    ...(createTime && { createdAt: createTime }),
    ...(updateTime && { updatedAt: updateTime }),
    ...(deleteTime && { deletedAt: deleteTime }),
    ...(legacyAdvisoryId && { legacyAdvisoryId }),
  })
}

export function oldEventOf(event: AdvisoryEvent): OldEvent {
  const { uid, findings, author, reviewer, reviewState, createTime, issue } = event
  const old = create(OldEventSchema, {
    ...{ id: uid, findings, author, reviewer, status: reviewState },
    ...(createTime && { timestamp: createTime }),
    ...(issue && { issue }),
  })
  copyType(reflect(AdvisoryEventSchema, event), reflect(OldEventSchema, old))
  return old
}

/** What has happened bears one name in both versions, and the fields inside it one number, so bytes carry it over. */
function copyType(from: ReflectMessage, to: ReflectMessage): void {
  const source = from.fields.find((field) => field.oneof && from.isSet(field))
  const target = to.fields.find(({ name }) => name === source?.name)
  if (source?.fieldKind !== 'message' || target?.fieldKind !== 'message') return
  const bytes = toBinary(source.message, from.get(source).message)
  to.set(target, reflect(target.message, fromBinary(target.message, bytes)))
}
