// Advisories as they are read: with filters that find few among many.
import type { JsonObject } from '@bufbuild/protobuf'
import { fromJson, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type {
  Advisory,
  ListAdvisoriesRequest,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisorySchema,
  EventTypeFilterSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../../aip/code.ts'
import { invalidField, notFound, StatusError } from '../../../aip/errors.ts'
import type { Reply } from '../../../aip/passage.ts'
import { admit } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { getResource } from '../../get.ts'
import { messageOf } from '../../kind.ts'
import { listResources } from '../../list.ts'
import type { Surroundings } from '../../surroundings.ts'
import { search } from './search.ts'
import { advisories, withdrawnAdvisories } from './table.ts'
import { numberOf } from './terms.ts'

/** How advisories are written for others to read. */
export type Writers = {
  osv(advisory: Advisory, source: Source | undefined): JsonObject
  openVex(advisory: Advisory): JsonObject
}

/** The record that an advisory was imported from, and when it was changed by that. */
export type Source = { format: string; record: string; importTime: number }

export function advisoriesService(surroundings: Surroundings, writers: Writers) {
  const { store } = surroundings

  /** Whoever knows it reads it, withdrawn or not. */
  function* readAdvisory(call: Call): Work<Advisory> {
    yield* admit(call.demand, false)
    const uid = call.demand.scope
    const row =
      (yield* first(sql`select proto from advisories where uid = ${uid}`)) ??
      (yield* first(sql`select proto from withdrawn_advisories where uid = ${uid}`))
    if (!row) throw notFound(AdvisorySchema.typeName, uid)
    return messageOf(advisories, row[0] as Uint8Array)
  }

  function* readSource({ uid }: Advisory): Work<Source | undefined> {
    const row = yield* first(sql`select format, record, update_time from advisory_sources
      where number = ${numberOf(uid)} and advisory = ${uid}`)
    return row && { format: row[0] as string, record: row[1] as string, importTime: row[2] as number }
  }

  return {
    getAdvisory: (call: Call) =>
      getResource(store, advisories, call).catch((error: unknown) => {
        if (!(error instanceof StatusError) || error.code !== Code.NOT_FOUND) throw error
        return getResource(store, withdrawnAdvisories, call)
      }),

    getAdvisoryOsv: (call: Call) =>
      store.read(function* () {
        const advisory = yield* readAdvisory(call)
        return documentReply(writers.osv(advisory, yield* readSource(advisory)))
      }),

    getAdvisoryOpenVex: (call: Call) =>
      store.read(function* () {
        return documentReply(writers.openVex(yield* readAdvisory(call)))
      }),

    listAdvisories(call: Call<ListAdvisoriesRequest>) {
      return listResources(surroundings, advisories, call, {
        *find(roots) {
          requireKnown(call.request)
          return yield* search(call.request, roots)
        },
      })
    },
  }
}

function requireKnown({ eventReviewStates, eventTypes, latestEventType }: ListAdvisoriesRequest): void {
  if (eventReviewStates.some((state) => !ReviewStateSchema.value[state]))
    throw invalidField('event_review_states', 'must be review states')
  const types = [...eventTypes, ...(latestEventType === undefined ? [] : [latestEventType])]
  if (types.some((type) => !EventTypeFilterSchema.value[type]))
    throw invalidField('event_types', 'must be types of events')
}

/** Over REST the document itself. */
const documentReply = (document: JsonObject): Reply => ({
  json: () => JSON.stringify(document),
  bytes: () => toBinary(StructSchema, fromJson(StructSchema, document)),
})
