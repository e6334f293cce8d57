// The audit log: entries are read from the event log (server/store/events).
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type {
  AuditEntry,
  ExportAuditEntriesRequest,
  ListAuditEntriesRequest,
} from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import {
  AuditEntriesService,
  AuditEntrySchema,
  AuditFormat,
  ListAuditEntriesResponseSchema,
} from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import { invalidField, notFound } from '../../aip/errors.ts'
import { fingerprintOf } from '../../aip/page-token.ts'
import { parentOf, rootOf } from '../../aip/uid.ts'
import { admitToRead } from '../../policy/admit.ts'
import type { Call } from '../../rpc/call.ts'
import type { EntryKey, EntryQuery } from '../../store/events/find-entries.ts'
import { countEntries, findEntries } from '../../store/events/find-entries.ts'
import { readSealedEvent } from '../../store/events/read-sealed.ts'
import type { Work } from '../../store/work.ts'
import { writeJson } from '../../wire/json-writer.ts'
import type { Reply } from '../../wire/reply.ts'
import { asJson, messageReply } from '../../wire/reply.ts'
import type { Dependencies } from '../dependencies.ts'
import { pageSizeOf, visibleRegions } from '../list.ts'
import { defineService } from '../resource.ts'
import { ecsOf } from './ecs.ts'
import type { MessageOfKind } from './entry.ts'
import { entriesOf, structOf } from './entry.ts'
import type { EntryFilter } from './selection.ts'
import { filtersOf, rootsIn, sequenceIn } from './selection.ts'

export type AuditDependencies = Pick<Dependencies, 'store' | 'pageSeals' | 'maxListRows'> & {
  audit: {
    /** Seals what was committed before the call, so that a caller finds its own changes. */
    catchUp(): Promise<void>
    messageOf: MessageOfKind
  }
}

const auditMethods = (deps: AuditDependencies) => ({
  async getAuditEntry(call: Call): Promise<Reply> {
    return deps.store.read(() => readEntry(deps, call))
  },

  async listAuditEntries(call: Call<ListAuditEntriesRequest>): Promise<Reply> {
    await deps.audit.catchUp()
    return deps.store.read(() => readList(deps, call))
  },

  exportAuditEntries: (call: Call<ExportAuditEntriesRequest>) => exportEntries(deps, call),
})

export const auditService = defineService<typeof AuditEntriesService, AuditDependencies>({
  service: AuditEntriesService,
  methods: auditMethods,
})

function* readEntry({ audit }: AuditDependencies, { demand }: Call): Work<Reply> {
  yield* admitToRead(demand)
  const { scope: uid } = demand
  const sequence = sequenceIn(uid)
  const event = sequence === undefined ? undefined : yield* readSealedEvent(rootOf(uid), sequence)
  if (event?.group !== parentOf(uid)) throw notFound(AuditEntrySchema.typeName, uid)
  const [entry] = yield* entriesOf([event], audit.messageOf)
  return messageReply(AuditEntrySchema, entry as AuditEntry) // there is one entry for each event
}

function* readList(
  { pageSeals, maxListRows, audit }: AuditDependencies,
  call: Call<ListAuditEntriesRequest>,
): Work<Reply> {
  const { request, method } = call
  const selection = yield* select(call)
  const descending = isDescending(request.orderBy, true)
  const filter = { ...request, pageSize: 0, pageToken: '', orderBy: '', skip: 0 }
  const canonical = Buffer.from(toBinary(method.desc.input, filter)).toString('latin1')
  const query = { method: method.name, fingerprint: fingerprintOf([canonical, descending]) }
  const page = {
    ...{ ...selection, descending, skip: request.skip, size: pageSizeOf(request), maxRows: maxListRows },
    after: keyOf(pageSeals.open(query, request.pageToken)),
  }
  const { events, next } = yield* findEntries(page)
  const response = create(ListAuditEntriesResponseSchema, {
    entries: yield* entriesOf(events, audit.messageOf),
    nextPageToken: next ? pageSeals.seal(query, [next.time, next.root, next.sequence]) : '',
    totalCount: BigInt(yield* countEntries(selection)),
    skipped: request.skip,
  })
  return messageReply(ListAuditEntriesResponseSchema, response)
}

function keyOf(cursor: readonly unknown[] | undefined): EntryKey | undefined {
  if (!cursor) return undefined
  const [time, root, sequence] = cursor as [number, string, number] // sealed by `readList`
  return { time, root, sequence }
}

/** Authorizes the caller. Selects the entries that the request asks for and the caller may see. */
function* select(call: Call<EntryFilter>): Work<Pick<EntryQuery, 'roots' | 'filters'>> {
  const grants = yield* admitToRead(call.demand)
  const regions = visibleRegions(grants, call.demand.capabilities, call.request.uidp)
  return { roots: rootsIn(regions), filters: filtersOf(call.request) }
}

function isDescending(orderBy: string, fallback: boolean): boolean {
  if (orderBy.trim() === '') return fallback
  const match = /^ *time(?: +(asc|desc))? *$/.exec(orderBy)
  if (!match) throw invalidField('order_by', 'must be time or time desc')
  return match[1] === 'desc'
}

/** In entries. A page is in memory until the client has read it. */
const exportPageSize = 100

/** Reads each page in a transaction of its own, and the grants again for each page. */
async function* exportEntries(
  { store, maxListRows, audit }: AuditDependencies,
  call: Call<ExportAuditEntriesRequest>,
): AsyncGenerator<Reply, void, void> {
  await audit.catchUp()
  const { format, orderBy } = call.request
  let after: EntryKey | undefined
  do {
    const page = await store.read(function* () {
      const selection = yield* select(call)
      const descending = isDescending(orderBy, false)
      const { events, next } = yield* findEntries({
        ...{ ...selection, descending, after, skip: 0, size: exportPageSize },
        // If the first page would read too many rows, the lane reads the whole stream.
        maxRows: after ? undefined : maxListRows,
      })
      return { entries: yield* entriesOf(events, audit.messageOf), next }
    })
    for (const entry of page.entries) yield documentReply(entry, format)
    after = page.next
    await nextTurn() // the embedded store answers synchronously; this lets other calls run
  } while (after)
}

function documentReply(entry: AuditEntry, format: AuditFormat): Reply {
  const document = () => {
    const json = JSON.parse(writeJson(AuditEntrySchema, entry)) as JsonObject
    return format === AuditFormat.ECS ? ecsOf(json) : json
  }
  return {
    json: () => asJson(JSON.stringify(document())),
    bytes: () => toBinary(StructSchema, structOf(document())),
  }
}
