// Advisories as OSV and OpenVEX documents: a single advisory, or all advisories of a list as a stream.
import type { JsonObject } from '@bufbuild/protobuf'
import { fromJson, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type {
  Advisory,
  ListAdvisoriesRequest,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { notFound } from '../../../aip/errors.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { documentNumberOf } from '../../../store/postings/numbering.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { asJson } from '../../../wire/reply.ts'
import type { AdvisorySource, Dependencies } from '../../dependencies.ts'
import { messageOf } from '../../kind.ts'
import { streamResources } from '../../stream.ts'
import { searchListing } from './search-listing.ts'
import { advisories } from './table.ts'

/** Returns one document for each advisory. */
type WriteDocuments = (advisories: readonly Advisory[]) => Work<Reply[]>

export function documentMethods(deps: Dependencies) {
  const { osv, openVex } = deps.settings.advisoryFormats

  function* writeOsv(list: readonly Advisory[]): Work<Reply[]> {
    const sources = yield* readSources(list)
    return list.map((advisory) => documentReply(() => osv(advisory, sources.get(advisory.uid))))
  }

  function* writeOpenVex(list: readonly Advisory[]): Work<Reply[]> {
    return list.map((advisory) => documentReply(() => openVex(advisory)))
  }

  return {
    getAdvisoryOsv: (call: Call) => getAs(deps, call, writeOsv),
    getAdvisoryOpenVex: (call: Call) => getAs(deps, call, writeOpenVex),
    exportAdvisoriesOsv: (call: Call<ListAdvisoriesRequest>) => exportAs(deps, call, writeOsv),
    exportAdvisoriesOpenVex: (call: Call<ListAdvisoriesRequest>) => exportAs(deps, call, writeOpenVex),
  }
}

const getAs = ({ store }: Dependencies, call: Call, write: WriteDocuments) =>
  store.read(function* () {
    const [reply] = yield* write([yield* readAdvisory(call)])
    return reply as Reply // `write` returns one reply for each advisory
  })

const exportAs = (deps: Dependencies, call: Call<ListAdvisoriesRequest>, write: WriteDocuments) =>
  streamResources(deps, advisories, call, searchListing(call), function* (rows) {
    return rows.length === 0 ? [] : yield* write(rows.map((bytes) => messageOf(advisories, bytes)))
  })

/** Withdrawn advisories can still be read by uid. */
function* readAdvisory({ demand }: Call): Work<Advisory> {
  yield* admitToRead(demand)
  const uid = demand.scope
  const row =
    (yield* first(sql`select proto from advisories where uid = ${uid}`)) ??
    (yield* first(sql`select proto from withdrawn_advisories where uid = ${uid}`))
  if (!row) throw notFound(AdvisorySchema.typeName, uid)
  return messageOf(advisories, row[0] as Uint8Array)
}

/** The records that advisories were imported from, by the uid of the advisory. */
function* readSources(list: readonly Advisory[]): Work<Map<string, AdvisorySource>> {
  const numbers = among(list.map(({ uid }) => documentNumberOf(uid)))
  const rows = yield* all(sql`select advisory, format, record, update_time from advisory_sources
    where number in ${numbers}`)
  const sources = rows as [uid: string, format: string, record: string, importTime: number][]
  return new Map(sources.map(([uid, format, record, importTime]) => [uid, { format, record, importTime }]))
}

/** The document is made when the door sends it, so a stream has one in memory at a time. gRPC sends it as a Struct. */
const documentReply = (make: () => JsonObject): Reply => ({
  json: () => asJson(JSON.stringify(make())),
  bytes: () => toBinary(StructSchema, fromJson(StructSchema, make())),
})
