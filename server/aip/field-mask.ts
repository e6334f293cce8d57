// Partial updates (AIP-134, AIP-161): which fields change, and what becomes of the resource.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { clone, create, equals, getOption } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { rules } from '@stemma/api/gen/platform/common/rules_pb.ts'
import { isImmutable, isOutputOnly } from '@stemma/api/method.ts'
import { invalidField } from './errors.ts'
import { isBranch, resolvePath } from './field-path.ts'

const maxPaths = 200

/** The fields that each path of a mask walks through. */
export function parseMask(desc: DescMessage, paths: readonly string[]): DescField[][] {
  if (paths.length > maxPaths) throw invalidField('update_mask', `must hold at most ${maxPaths} paths`)
  const trimmed = paths.map((path) => path.trim()).filter((path) => path !== '')
  if (trimmed.includes('*')) {
    if (trimmed.length > 1) throw invalidField('update_mask', 'must hold nothing else where it holds *')
    return desc.fields.map((field) => [field])
  }
  return trimmed.map((path) => {
    const fields = resolvePath(desc, path)
    if (!fields)
      throw invalidField('update_mask', `must name fields of the resource; it has no ${describe(path)}`)
    return fields
  })
}

const describe = (path: string) => JSON.stringify(path.slice(0, 100).toWellFormed())

/** The mask of a message that came without one: every field that holds something. */
export function populatedPaths(message: ReflectMessage): DescField[][] {
  return message.fields
    .filter((field) => message.isSet(field))
    .flatMap((field) => {
      if (!isBranch(field)) return [[field]]
      const inside = populatedPaths(message.get(field))
      return inside.length === 0 ? [[field]] : inside.map((path) => [field, ...path])
    })
}

export type Merge = {
  merged: Message
  /** The operator's own fields that would change. */
  guarded: DescField[]
}

/** The resource as it is after the masked fields took their new values. Changes neither message. */
export function applyMask(desc: DescMessage, current: Message, patch: Message, mask: DescField[][]): Merge {
  const merged = clone(desc, current)
  for (const path of mask) {
    if (!path.some(isOutputOnly)) copyPath(reflect(desc, patch), reflect(desc, merged), path)
  }
  const before = reflect(desc, current)
  const after = reflect(desc, merged)
  for (const field of desc.fields) refuseImmutable(before, after, field, field.name)
  const guarded = desc.fields.filter(
    (field) => getOption(field, rules).operatorOnly && differs(before, after, field),
  )
  return { merged, guarded }
}

function copyPath(from: ReflectMessage, to: ReflectMessage, path: DescField[]): void {
  const [field, ...rest] = path
  if (!field) return
  if (rest.length > 0 && isBranch(field)) {
    const source = from.isSet(field) ? from.get(field) : reflect(field.message, create(field.message))
    if (!to.isSet(field)) {
      if (!from.isSet(field)) return
      to.set(field, reflect(field.message, create(field.message)))
    }
    copyPath(source, to.get(field), rest)
  } else if (from.isSet(field)) {
    to.set(field, from.get(field))
  } else {
    to.clear(field)
  }
}

function refuseImmutable(
  before: ReflectMessage,
  after: ReflectMessage,
  field: DescField,
  path: string,
): void {
  if (isImmutable(field)) {
    // Left out is not a change, so that `*` and clients that do not know the field keep working.
    if (!after.isSet(field) && before.isSet(field)) keep(before, after, field)
    else if (differs(before, after, field)) throw invalidField(path, 'cannot be changed once set')
  } else if (isBranch(field) && before.isSet(field) && after.isSet(field)) {
    for (const inner of field.message.fields) {
      refuseImmutable(before.get(field), after.get(field), inner, `${path}.${inner.name}`)
    }
  }
}

function keep(before: ReflectMessage, after: ReflectMessage, field: DescField): void {
  after.set(field, before.get(field))
}

function differs(before: ReflectMessage, after: ReflectMessage, field: DescField): boolean {
  const only = (message: ReflectMessage) => {
    const alone = reflect(message.desc, create(message.desc))
    if (message.isSet(field)) alone.set(field, message.get(field))
    return alone.message
  }
  return !equals(before.desc, only(before), only(after))
}
