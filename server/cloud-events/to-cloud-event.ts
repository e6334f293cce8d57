// Makes a CloudEvent from a row of the event log. docs/internals/events.md explains types, subjects and extensions.
import { parentOf, rootOf } from '../aip/uid.ts'
import type { Attributes, CloudEvent } from './cloud-event.ts'
import { methodBody, resourceBody } from './event-body.ts'
import type { EventCatalog } from './event-catalog.ts'
import type { OtherEvent } from './other-events.ts'
import { otherEvents } from './other-events.ts'
import type { RecordedEvent, RecordedOrigin } from './recorded-event.ts'

export type CloudEventSettings = {
  catalog: EventCatalog
  /** Put before all types, such as `dev.stemma.`. */
  typePrefix: string
  /** The prefixes that published clients put before our packages, such as `chainguard.`. */
  vendorPrefixes: readonly string[]
  /** The URL of this server. */
  baseUrl: string
}

/** Undefined if the row is no event for receivers, such as a refused call. */
export type ToCloudEvent = (row: RecordedEvent) => CloudEvent | undefined

type Description = OtherEvent & { source: string }

export function openCloudEvents({
  catalog,
  typePrefix,
  vendorPrefixes,
  baseUrl,
}: CloudEventSettings): ToCloudEvent {
  // A server that sends the types of a vendor also names and shapes messages as the vendor's receivers expect.
  const vendor = vendorPrefixes.find((prefix) => typePrefix.endsWith(`.${prefix}`))
  const registry = new URL(baseUrl).host

  function describe(row: RecordedEvent): Description | undefined {
    const method = catalog.methods.get(row.method)
    const source = baseUrl + (method?.path ?? '')
    const other = otherEvents[`${row.kind} ${row.action}`]
    if (other) return { source, ...other(row, registry) }
    if (row.code !== 0) return undefined
    const kind = catalog.kinds.get(row.kind)
    if (kind?.eventType && isChange(row.action)) {
      const type = `${kind.eventType}.${row.action}.v1`
      return { type, source, body: resourceBody(kind, method, row, vendor === undefined) }
    }
    const type = method?.eventType
    return type === undefined ? undefined : { type, source, body: methodBody(catalog, type, row) }
  }

  return (row) => {
    const found = describe(row)
    if (!found) return undefined
    const { type, source, body, extensions } = found
    const { id, sequence, uid } = row
    const actor = row.actor || (found.actor ?? '')
    return {
      attributes: {
        ...{ specversion: '1.0', id, source, type: typePrefix + type },
        ...(uid !== '' && { subject: uid }),
        ...{ time: new Date(row.time).toISOString(), ...placeOf(row), audience: 'customer' },
        ...(actor !== '' && { actor }),
        ...(body.typeName !== undefined && { bodytype: (vendor ?? '') + body.typeName }),
        ...(sequence !== undefined && { sequence: String(sequence) }),
        ...extensions,
      },
      contentType: 'application/json',
      data: `{${actorJson(actor, row)}"body":${body.json}}`,
    }
  }
}

const isChange = (action: string) => action === 'created' || action === 'updated' || action === 'deleted'

/** The group of an event as receivers of the published API expect it. */
function placeOf({ kind, action, uid, group }: RecordedEvent): Attributes {
  if (kind === 'groups') return { group: action === 'deleted' ? parentOf(uid) || uid : uid }
  if (kind === 'tags') return { group: rootOf(uid) }
  if (kind === 'external_group_role_mappings') return { group: rootOf(uid), identityprovider: parentOf(uid) }
  return { group }
}

/** The member `actor` with its comma. Empty for changes of the operator and of the server itself. */
function actorJson(actor: string, { origin }: RecordedEvent): string {
  if (actor === '') return ''
  const { act } = JSON.parse(origin) as RecordedOrigin // written by the recorder
  return `"actor":${JSON.stringify({ subject: actor, act })},`
}
