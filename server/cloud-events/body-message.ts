// Prepares a resource for the body of an event: removes secrets, and fields that receivers must not get.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { clone } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { isInputOnly, rulesOf } from '@stemma/api/method.ts'

/** The only fields of these messages that events show. An invite lets its reader join a group. */
const shownFields: { readonly [typeName: string]: readonly string[] } = {
  'platform.iam.v2beta1.GroupInvite': ['uid', 'expiration_time'],
  'platform.iam.GroupInvite': ['id', 'expiration'],
}

/** Fields that Stemma has added to messages of the published API have numbers from here on. */
const firstOwnNumber = 1000

/**
 * A copy without secrets. Receivers that were written for the published API refuse messages with
 * unknown fields, so `withStemmaFields` is false for them.
 */
export function bodyMessage<D extends DescMessage>(desc: D, message: Message, withStemmaFields: boolean) {
  const copy = clone(desc, message as never) // the message is of this type
  clearHidden(
    reflect(desc, copy),
    (field) => isSecret(field) || (!withStemmaFields && field.number >= firstOwnNumber),
  )
  return copy
}

function clearHidden(message: ReflectMessage, isHidden: (field: DescField) => boolean): void {
  const shown = shownFields[message.desc.typeName]
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    if (isHidden(field) || (shown && !shown.includes(field.name))) message.clear(field)
    else for (const inner of messagesIn(message, field)) clearHidden(inner, isHidden)
  }
}

function messagesIn(message: ReflectMessage, field: DescField): ReflectMessage[] {
  if (field.fieldKind === 'message') return [message.get(field)]
  if (field.fieldKind === 'list' && field.listKind === 'message')
    return [...message.get(field)] as ReflectMessage[] // a list of messages has only these
  if (field.fieldKind === 'map' && field.mapKind === 'message')
    return [...message.get(field).values()] as ReflectMessage[] // as above
  return []
}

const isSecret = (field: DescField) =>
  isInputOnly(field) || rulesOf(field).secret || (field.proto.options?.debugRedact ?? false)
