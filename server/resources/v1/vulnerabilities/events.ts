// The calls for events of an advisory. Events are stored in their advisory, so writing an event revises the advisory.
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  AdvisoryEventFilter,
  CreateAdvisoryEventRequest,
  AdvisoryEvent as V1Event,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisoryEventListSchema,
  AdvisoryEventSchema as V1EventSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { requireMatch } from '../../../aip/etag.ts'
import { parentOf } from '../../../aip/uid.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createOnce } from '../../create-once.ts'
import { advisories, withdrawnAdvisories } from '../../vulnerabilities/advisories/table.ts'
import type { V1Dependencies } from '../dependencies.ts'
import { admittedWrite } from './admitted-write.ts'
import { eventFromV1, eventToV1 } from './conversion.ts'
import { pathStart, withV1ErrorFields } from './error-fields.ts'
import { readAdvisory } from './read-advisory.ts'
import { applyReviewRules } from './review.ts'

export const eventMethods = ({ store, idempotency, advisoryWrites }: V1Dependencies) => ({
  createAdvisoryEvent: (call: Call<CreateAdvisoryEventRequest>) =>
    createOnce({ store, idempotency }, call, function* (grants) {
      const { parentId, advisoryEvent } = call.request
      const event = eventFromV1(advisoryEvent ?? create(V1EventSchema))
      applyReviewRules(grants, parentId, event)
      const revision = advisoryWrites.revise(grants, parentId, ({ events }) => {
        events.push(event)
      })
      yield* withV1ErrorFields(pathStart.createEvent, revision)
      return eventReply(event)
    }),

  listAdvisoryEvents: (call: Call<AdvisoryEventFilter>) =>
    store.read(function* () {
      yield* admitToRead(call.demand)
      const { parentId } = call.request
      const { events } = yield* readAdvisory(parentId, advisories, withdrawnAdvisories)
      const list = create(AdvisoryEventListSchema, { parentId, items: events.map(eventToV1) })
      return messageReply(AdvisoryEventListSchema, list)
    }),

  updateAdvisoryEvent: (call: Call<V1Event>) =>
    admittedWrite(store, call, function* (grants) {
      const { id } = call.request
      const advisoryUid = parentOf(id)
      if (advisoryUid === '') throw notFound(V1EventSchema.typeName, id)
      const event = eventFromV1(call.request)
      event.uid = id
      let updateTimeBefore = 0
      const revise = ({ events, updateTime }: Advisory) => {
        updateTimeBefore = updateTime ? timestampMs(updateTime) : 0
        const index = events.findIndex(({ uid }) => uid === id)
        const before = events[index]
        if (!before) throw notFound(V1EventSchema.typeName, id)
        if (before.createTime) event.createTime ??= before.createTime
        applyReviewRules(grants, id, event, before)
        events[index] = event
      }
      yield* withV1ErrorFields(pathStart.updateEvent, advisoryWrites.revise(grants, advisoryUid, revise))
      // The entity tag is that of the advisory, because its events have none. See `update` of advisories.
      requireMatch(call.ifMatch, updateTimeBefore)
      return eventReply(event)
    }),
})

const eventReply = (event: AdvisoryEvent): Reply => messageReply(V1EventSchema, eventToV1(event))
