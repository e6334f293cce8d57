// Advisories as v1 writes them: conversions around what writes those of v2, which `server/services.ts` hands in.
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  AdvisoryEventFilter,
  CreateAdvisoryEventRequest,
  CreateAdvisoryRequest,
  DeleteAdvisoryRequest,
  Advisory as OldAdvisory,
  AdvisoryEvent as OldEvent,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import {
  AdvisoryEventListSchema,
  AdvisorySchema as OldAdvisorySchema,
  AdvisoryEventSchema as OldEventSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Advisory, AdvisoryEvent } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { etagOf, requireMatch } from '../../../aip/etag.ts'
import { parentOf } from '../../../aip/uid.ts'
import { admit } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { readBytes, readForDelete } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import type { Kind } from '../../kind.ts'
import { messageOf } from '../../kind.ts'
import { emptyReply } from '../../reply.ts'
import { advisories, withdrawnAdvisories } from '../../vulnerabilities/advisories/table.ts'
import { draftOf, eventOf, oldAdvisoryOf, oldEventOf, replaceSaid } from './conversion.ts'
import { inNamesOfV1, starts } from './field-names.ts'
import { settleEvent } from './review.ts'

/** What writes advisories, wherever they come from. */
export type AdvisoryWriting = {
  create(group: string, draft: Advisory): Work<string>
  revise(uid: string, change: (advisory: Advisory) => void): Work<Advisory>
  withdraw(uid: string): Work<void>
}

export function advisoriesOfV1({ store }: Dependencies, writing: AdvisoryWriting) {
  const write = (call: Call, work: (grants: Grants) => Work<Reply>) =>
    store.write(function* () {
      return yield* work(yield* admit(call.demand, true))
    }, call.deadline)

  return {
    create: (call: Call<CreateAdvisoryRequest>) =>
      write(call, function* (grants) {
        const { scope } = call.demand
        // Made within the work: what writes it changes it, and may be tried again.
        const draft = draftOf(call.request.advisory ?? create(OldAdvisorySchema))
        draft.author ||= grants.caller.identity
        for (const event of draft.events) settleEvent(grants, scope, event)
        const uid = yield* inNamesOfV1(starts.create, writing.create(scope, draft))
        return advisoryReply(yield* read(uid, advisories))
      }),

    update: (call: Call<OldAdvisory>) =>
      write(call, function* (grants) {
        const { request, ifMatch } = call
        const work = writing.revise(request.id, (advisory) => {
          requireMatch(ifMatch, timeOf(advisory))
          if (request.advisoryId !== '' && request.advisoryId !== advisory.advisoryId)
            throw invalidField('advisory_id', 'cannot be changed')
          replaceSaid(advisory, request)
          advisory.author ||= grants.caller.identity
        })
        return advisoryReply(yield* inNamesOfV1(starts.update, work))
      }),

    delete: (call: Call<DeleteAdvisoryRequest>) =>
      write(call, function* () {
        const { id } = call.request
        const row = yield* readForDelete(advisories.table, id)
        if (row) requireMatch(call.ifMatch, row.updateTime)
        yield* writing.withdraw(id)
        return emptyReply
      }),

    createAdvisoryEvent: (call: Call<CreateAdvisoryEventRequest>) =>
      write(call, function* (grants) {
        const { parentId, advisoryEvent } = call.request
        const event = eventOf(advisoryEvent ?? create(OldEventSchema))
        settleEvent(grants, parentId, event)
        const work = writing.revise(parentId, ({ events }) => {
          events.push(event)
        })
        yield* inNamesOfV1(starts.createEvent, work)
        return eventReply(event)
      }),

    listAdvisoryEvents: (call: Call<AdvisoryEventFilter>) =>
      store.read(function* () {
        yield* admit(call.demand, false)
        const { parentId } = call.request
        const { events } = yield* read(parentId, advisories, withdrawnAdvisories)
        const list = create(AdvisoryEventListSchema, { parentId, items: events.map(oldEventOf) })
        return messageReply(AdvisoryEventListSchema, list)
      }),

    updateAdvisoryEvent: (call: Call<OldEvent>) =>
      write(call, function* (grants) {
        const { id } = call.request
        const event = eventOf(call.request)
        event.uid = id
        // What lies in nothing is no event.
        if (parentOf(id) === '') throw notFound(OldEventSchema.typeName, id)
        const work = writing.revise(parentOf(id), ({ events }) => {
          const at = events.findIndex(({ uid }) => uid === id)
          const before = events[at]
          if (!before) throw notFound(OldEventSchema.typeName, id)
          if (before.createTime) event.createTime ??= before.createTime
          events[at] = settleEvent(grants, id, event, before)
        })
        yield* inNamesOfV1(starts.updateEvent, work)
        return eventReply(event)
      }),
  }
}

/** An advisory of the first of these kinds that has it. */
function* read(uid: string, ...kinds: Kind<typeof AdvisorySchema>[]): Work<Advisory> {
  for (const kind of kinds) {
    const bytes = (yield* readBytes(kind.table, [uid])).get(uid)
    if (bytes) return messageOf(kind, bytes)
  }
  throw notFound(AdvisorySchema.typeName, uid)
}

const timeOf = ({ updateTime }: Advisory) => (updateTime ? timestampMs(updateTime) : 0)

const advisoryReply = (advisory: Advisory): Reply => ({
  ...messageReply(OldAdvisorySchema, oldAdvisoryOf(advisory)),
  etag: etagOf(timeOf(advisory)),
})

const eventReply = (event: AdvisoryEvent): Reply => messageReply(OldEventSchema, oldEventOf(event))
