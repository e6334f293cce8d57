// The body of an event: the resource, the request that deleted it, or facts that were recorded as JSON.
import type { DescMessage, Message } from '@bufbuild/protobuf'
import { create, fromBinary, toJson } from '@bufbuild/protobuf'
import { isScope } from '@stemma/api/method.ts'
import { bodyMessage } from './body-message.ts'
import type { EventCatalog, EventKind, EventMethod } from './event-catalog.ts'
import type { RecordedEvent } from './recorded-event.ts'

/** `typeName` is the full name of the message in `json`; undefined if it is no message of the contract. */
export type EventBody = { json: string; typeName?: string }

/** The body of an event about the creation, change or deletion of a resource. */
export function resourceBody(
  { v1, v2 }: EventKind,
  method: EventMethod | undefined,
  { action, uid, after }: Pick<RecordedEvent, 'action' | 'uid' | 'after'>,
  withStemmaFields: boolean,
): EventBody {
  const form = method?.isV1 && v1 ? v1 : v2
  if (action === 'deleted' || after === null) return deletionBody(form.deletion, uid)
  const resource = fromBinary(v2.desc, after)
  // The cast is safe: `v1.convert` accepts the v2 message of this kind.
  const shown = form === v1 ? (v1.convert(resource as never) as Message) : resource
  return messageBody(form.desc, bodyMessage(form.desc, shown, withStemmaFields))
}

/** Omits fields with their default value, so that fields that `bodyMessage` has cleared do not appear as empty. */
const messageBody = (desc: DescMessage, message: Message): EventBody => ({
  json: JSON.stringify(toJson(desc, message)),
  typeName: desc.typeName,
})

function deletionBody(deletion: DescMessage | undefined, uid: string): EventBody {
  const field = deletion?.fields.find(isScope)
  if (!deletion || !field) return { json: JSON.stringify({ uid }) }
  return messageBody(deletion, create(deletion, { [field.localName]: uid }))
}

/** The body of an event of a method that has an event type of its own: the facts that it recorded. */
export function methodBody(
  catalog: EventCatalog,
  eventType: string,
  { details }: Pick<RecordedEvent, 'details'>,
): EventBody {
  if (details === null) return { json: '{}' }
  const output = catalog.outputs.get(eventType)
  // The details are the response without its secrets, unless they have names that the response does not have.
  const names = Object.keys(JSON.parse(details) as object)
  const isOutput = names.every((name) => output?.fields.some(({ jsonName }) => jsonName === name))
  return { json: details, ...(output && isOutput && { typeName: output.typeName }) }
}
