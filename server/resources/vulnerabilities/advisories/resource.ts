// Advisories as they are read: with filters that find few among many.
import type { JsonObject } from '@bufbuild/protobuf'
import { fromJson, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type {
  Advisory,
  ListAdvisoriesRequest,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import {
  AdvisoriesService,
  AdvisorySchema,
  EventTypeFilterSchema,
  ReviewStateSchema,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../../aip/code.ts'
import { invalidField, notFound, StatusError } from '../../../aip/errors.ts'
import { admit } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import { recover } from '../../../wire/maybe-promise.ts'
import type { Reply } from '../../../wire/reply.ts'
import { asJson } from '../../../wire/reply.ts'
import type { AdvisorySource, Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { messageOf } from '../../kind.ts'
import type { Listing } from '../../list.ts'
import { listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { streamResources } from '../../stream.ts'
import { reindexAdvisories } from './reindex.ts'
import { search } from './search.ts'
import { advisories, withdrawnAdvisories } from './table.ts'
import { numberOf } from './terms.ts'

function advisoriesMethods(deps: Dependencies) {
  const { store, settings } = deps

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

  /** Of those that were imported, by their uids. */
  function* readSources(some: readonly Advisory[]): Work<Map<string, AdvisorySource>> {
    const numbers = among(some.map(({ uid }) => numberOf(uid)))
    const rows = yield* all(sql`select advisory, format, record, update_time from advisory_sources
      where number in ${numbers}`)
    return new Map(
      rows.map(([uid, format, record, importTime]) => [
        uid as string,
        { format, record, importTime } as AdvisorySource,
      ]),
    )
  }

  function* writeOsv(some: readonly Advisory[]): Work<Reply[]> {
    const sources = yield* readSources(some)
    return some.map((advisory) =>
      documentReply(() => settings.advisoryFormats.osv(advisory, sources.get(advisory.uid))),
    )
  }

  function* writeOpenVex(some: readonly Advisory[]): Work<Reply[]> {
    return some.map((advisory) => documentReply(() => settings.advisoryFormats.openVex(advisory)))
  }

  const readAs = (call: Call, write: Write) =>
    store.read(function* () {
      const [reply] = yield* write([yield* readAdvisory(call)])
      return reply as Reply // one for each
    })

  const exportAs = (call: Call<ListAdvisoriesRequest>, write: Write) =>
    streamResources(deps, advisories, call, searching(call), function* (rows) {
      return rows.length === 0 ? [] : yield* write(rows.map((bytes) => messageOf(advisories, bytes)))
    })

  return {
    getAdvisory: (call: Call) =>
      recover(
        () => getResource(store, advisories, call),
        (error) => {
          if (!(error instanceof StatusError) || error.code !== Code.NOT_FOUND) throw error
          return getResource(store, withdrawnAdvisories, call)
        },
      ),

    getAdvisoryOsv: (call: Call) => readAs(call, writeOsv),
    getAdvisoryOpenVex: (call: Call) => readAs(call, writeOpenVex),
    exportAdvisoriesOsv: (call: Call<ListAdvisoriesRequest>) => exportAs(call, writeOsv),
    exportAdvisoriesOpenVex: (call: Call<ListAdvisoriesRequest>) => exportAs(call, writeOpenVex),

    listAdvisories: (call: Call<ListAdvisoriesRequest>) =>
      listResources(deps, advisories, call, searching(call)),
  }
}

export const advisoriesResource = defineResource({
  kind: advisories,
  service: AdvisoriesService,
  methods: advisoriesMethods,
  onStart: reindexAdvisories,
})

type Write = (some: readonly Advisory[]) => Work<Reply[]>

const searching = ({ request }: Call<ListAdvisoriesRequest>): Listing => ({
  *find(roots) {
    requireKnown(request)
    return yield* search(request, roots)
  },
})

function requireKnown({ eventReviewStates, eventTypes, latestEventType }: ListAdvisoriesRequest): void {
  if (eventReviewStates.some((state) => !ReviewStateSchema.value[state]))
    throw invalidField('event_review_states', 'must be review states')
  const types = [...eventTypes, ...(latestEventType === undefined ? [] : [latestEventType])]
  if (types.some((type) => !EventTypeFilterSchema.value[type]))
    throw invalidField('event_types', 'must be types of events')
}

/** Over REST the document itself. It is made when it is asked for, so of many there is one at a time. */
const documentReply = (make: () => JsonObject): Reply => ({
  json: () => asJson(JSON.stringify(make())),
  bytes: () => toBinary(StructSchema, fromJson(StructSchema, make())),
})
