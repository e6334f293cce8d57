// Partial updates (AIP-134, AIP-161): the fields that a mask names, and the resource after the update.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { clone, create, equals } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { isImmutable, isOutputOnly, rulesOf } from '@stemma/api/method.ts'
import { invalidField } from './errors.ts'
import { isBranch, resolvePath } from './field-path.ts'

const maxPaths = 200

/** Fields that the published API does not have are numbered from here on. */
const firstOwnNumber = 1000

/**
 * Returns each path of a mask as a list of fields: `claim_match.issuer` as the fields
 * `claim_match` and `issuer`. `*` means all fields, except those that are neither in the published
 * API nor set in `sent`: published clients do not know them, and must not clear them. Without
 * `sent`, there is no exception.
 */
export function parseMask(desc: DescMessage, paths: readonly string[], sent?: ReflectMessage): DescField[][] {
  if (paths.length > maxPaths) throw invalidField('update_mask', `must have at most ${maxPaths} paths`)
  const trimmed = paths.map((path) => path.trim()).filter((path) => path !== '')
  if (trimmed.includes('*')) {
    if (trimmed.length > 1) throw invalidField('update_mask', 'must have no other path if it contains *')
    return desc.fields
      .filter((field) => field.number < firstOwnNumber || !sent || sent.isSet(field))
      .map((field) => [field])
  }
  return trimmed.map((path) => {
    const fields = resolvePath(desc, path)
    if (!fields)
      throw invalidField(
        'update_mask',
        `must contain fields of the resource; ${quoted(path)} is not one of them`,
      )
    return fields
  })
}

const quoted = (path: string) => JSON.stringify(path.slice(0, 100).toWellFormed())

/** The mask for an update request without a mask: the paths of all fields that the message sets. */
export function populatedPaths(message: ReflectMessage): DescField[][] {
  return message.fields
    .filter((field) => message.isSet(field))
    .flatMap((field) => {
      if (!isBranch(field)) return [[field]]
      const innerPaths = populatedPaths(message.get(field))
      return innerPaths.length === 0 ? [[field]] : innerPaths.map((path) => [field, ...path])
    })
}

export type Merge = {
  merged: Message
  /** The fields that would change and that only the operator may change. */
  operatorFields: DescField[]
}

/** Returns a copy of `current` in which the fields of the mask have the values of `patch`. Modifies no argument. */
export function applyMask(desc: DescMessage, current: Message, patch: Message, mask: DescField[][]): Merge {
  const merged = clone(desc, current)
  const after = reflect(desc, merged)
  // `set` does not copy messages and lists, so they are taken from clones of `current` and `patch`.
  const before = reflect(desc, clone(desc, current))
  const source = reflect(desc, clone(desc, patch))
  for (const path of mask) if (!path.some(isOutputOnly)) copyPath(source, after, path)
  for (const field of desc.fields) protect(before, after, field, field.name)
  const operatorFields = desc.fields.filter(
    (field) => rulesOf(field).operatorOnly && differs(before, after, field),
  )
  return { merged, operatorFields }
}

function copyPath(from: ReflectMessage, to: ReflectMessage, path: DescField[]): void {
  const [field, ...innerPath] = path
  if (!field) return
  if (innerPath.length > 0 && isBranch(field)) {
    const source = from.isSet(field) ? from.get(field) : emptyOf(field.message)
    if (!to.isSet(field)) {
      if (!from.isSet(field)) return
      to.set(field, emptyOf(field.message))
    }
    copyPath(source, to.get(field), innerPath)
  } else if (from.isSet(field)) {
    to.set(field, from.get(field))
  } else {
    to.clear(field)
  }
}

/**
 * Restores fields that callers cannot set, even if the mask contains the message around them. Throws if an immutable
 * field was changed. `isNew`: the message around the field is new, so its immutable fields can be set.
 */
function protect(
  before: ReflectMessage,
  after: ReflectMessage,
  field: DescField,
  path: string,
  isNew = false,
): void {
  if (isOutputOnly(field)) restore(before, after, field)
  else if (isImmutable(field) && !isNew) {
    // Omitting the field is not a change, so that clients that do not know the field can use the mask `*`.
    if (!after.isSet(field)) restore(before, after, field)
    else if (differs(before, after, field)) throw invalidField(path, 'cannot be changed')
  } else if (isBranch(field) && after.isSet(field)) {
    const innerBefore = before.isSet(field) ? before.get(field) : emptyOf(field.message)
    for (const inner of field.message.fields)
      protect(innerBefore, after.get(field), inner, `${path}.${inner.name}`, !before.isSet(field))
  }
}

const emptyOf = (desc: DescMessage) => reflect(desc, create(desc))

function restore(before: ReflectMessage, after: ReflectMessage, field: DescField): void {
  if (before.isSet(field)) after.set(field, before.get(field))
  else after.clear(field)
}

function differs(before: ReflectMessage, after: ReflectMessage, field: DescField): boolean {
  const withOnlyField = (message: ReflectMessage) => {
    const copy = emptyOf(message.desc)
    if (message.isSet(field)) copy.set(field, message.get(field))
    return copy.message
  }
  return !equals(before.desc, withOnlyField(before), withOnlyField(after))
}
