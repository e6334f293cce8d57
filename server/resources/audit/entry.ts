// Entries of the audit log as the API shows them, made from rows of the event log.
import type { DescMessage, JsonObject } from '@bufbuild/protobuf'
import { create, fromJson } from '@bufbuild/protobuf'
import { StructSchema, timestampFromMs, ValueSchema } from '@bufbuild/protobuf/wkt'
import type { AuditEntry } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import {
  AuditActorSchema,
  AuditChangeSchema,
  AuditEntrySchema,
} from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import type { OriginDetail, SealedEvent } from '../../store/events/event-row.ts'
import { among, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import type { Change } from './changes.ts'
import { changesBetween, resourceJson } from './changes.ts'
import { entryUid } from './selection.ts'

/**
 * Returns the message type for the `kind` of an event. The kind of a resource is the name of its
 * table. Undefined for other kinds.
 */
export type MessageOfKind = (kind: string) => DescMessage | undefined

/** Reads the present names of the actors, and makes the entries. */
export function* entriesOf(events: readonly SealedEvent[], messageOf: MessageOfKind): Work<AuditEntry[]> {
  const names = yield* readNames([...new Set(events.map(({ actor }) => actor))].filter(Boolean))
  return events.map((event) => {
    const desc = isChange(event.action) ? messageOf(event.kind) : undefined
    return entryOf(event, desc, names.get(event.actor) ?? '')
  })
}

/** Only these actions record the content of a resource, before and after. */
const isChange = (action: string) => action === 'created' || action === 'updated' || action === 'deleted'

function* readNames(identities: readonly string[]): Work<Map<string, string>> {
  if (identities.length === 0) return new Map()
  const rows = yield sql`select uid, name from identities where uid in ${among(identities)}`
  return new Map(rows as [string, string][])
}

function entryOf(event: SealedEvent, desc: DescMessage | undefined, actorName: string): AuditEntry {
  const { uid, kind, group, method, action, code, sequence, hash } = event
  const before = resourceJson(desc, event.before)
  const after = resourceJson(desc, event.after)
  const name = after.name ?? before.name
  const { hidden = [], ...details } = JSON.parse(event.details ?? '{}') as JsonObject & { hidden?: string[] }
  const changes = [...changesBetween(before, after), ...hidden.map((path) => ({ path, hidden: true }))]
  return create(AuditEntrySchema, {
    ...{ uid: entryUid(group, sequence), group, method, action, code, hash },
    sequence: BigInt(sequence),
    time: timestampFromMs(event.time),
    actor: actorOf(event, actorName),
    resource: { uid, kind, name: typeof name === 'string' ? name : '' },
    changes: changes.map(changeMessage),
    ...(Object.keys(details).length > 0 && { details: details as JsonObject }),
  })
}

function actorOf({ actor, origin }: SealedEvent, name: string) {
  const { door, address = '', userAgent = '', requestId = '', signIn } = JSON.parse(origin) as OriginDetail
  return create(AuditActorSchema, {
    ...{ identity: actor, name, door, address, userAgent, requestId },
    person: signIn?.person ?? '',
    identityProvider: signIn?.provider ?? '',
  })
}

const changeMessage = ({ path, before, after, truncated = false, hidden = false }: Change) =>
  create(AuditChangeSchema, {
    ...{ path, truncated, hidden },
    ...(before !== undefined && { before: fromJson(ValueSchema, before) }),
    ...(after !== undefined && { after: fromJson(ValueSchema, after) }),
  })

export const structOf = (json: JsonObject) => fromJson(StructSchema, json)
