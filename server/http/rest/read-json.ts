// Reads a JSON object into a message, field by field, so that what is wrong can be named by its path.
import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { invalidField } from '../../aip/errors.ts'
import { findField, isBranch } from '../../aip/field-path.ts'
import type { JsonObject } from './read-leaf.ts'
import { describe, isObject, readLeaf } from './read-leaf.ts'

export type ReadOptions = {
  /** Told of each path that the object holds; a list or map is one path, and so is an empty object. */
  onPath(path: string): void
  /** Told of each key that names no field. */
  onUnknown(path: string): void
}

const deaf: ReadOptions = { onPath() {}, onUnknown() {} }

const deepest = 50

export function readJson(
  target: ReflectMessage,
  json: JsonValue,
  options = deaf,
  path = '',
  depth = 0,
): void {
  if (!isObject(json)) throw invalidField(path || 'body', `must be a JSON object, not ${describe(json)}`)
  if (depth > deepest) throw invalidField(path, 'is nested too deeply')
  const prefix = path === '' ? '' : `${path}.`
  const { known, unknown } = sortOut(target.desc, json)
  for (const key of unknown) options.onUnknown(prefix + key)
  for (const [field, value] of known) {
    const isEntered = isBranch(field) && isObject(value) && Object.keys(value).length > 0
    if (!isEntered) options.onPath(prefix + field.name)
    if (value !== null) readField(target, field, value, options, prefix + field.name, depth)
  }
}

/** Where one field comes in both spellings, the last one holds, as it does for a key that comes twice. */
function sortOut(desc: DescMessage, json: JsonObject) {
  const known = new Map<DescField, JsonValue>()
  const unknown: string[] = []
  for (const [key, value] of Object.entries(json)) {
    const field = findField(desc, key)
    if (field) known.set(field, value)
    else unknown.push(printable(key))
  }
  return { known, unknown }
}

const printable = (key: string) => key.slice(0, 100).toWellFormed()

function readField(
  target: ReflectMessage,
  field: DescField,
  value: JsonValue,
  options: ReadOptions,
  path: string,
  depth: number,
): void {
  refuseSecond(target, field, path)
  const readInside = (desc: DescMessage, json: JsonValue, where: string, told: ReadOptions) => {
    const inner = reflect(desc, create(desc))
    readJson(inner, json, told, where, depth + 1)
    return inner
  }
  // Nothing inside a list or a map is a path of its own.
  const inElement = { ...options, onPath() {} }
  if (isBranch(field)) target.set(field, readInside(field.message, value, path, options))
  else if (field.fieldKind === 'list' && field.listKind === 'message') {
    if (!Array.isArray(value)) throw invalidField(path, `must be a JSON array, not ${describe(value)}`)
    const list = target.get(field)
    for (const [at, element] of value.entries())
      list.add(readInside(field.message, element, `${path}[${at}]`, inElement))
  } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
    if (!isObject(value)) throw invalidField(path, `must be a JSON object, not ${describe(value)}`)
    const map = target.get(field)
    for (const [key, element] of Object.entries(value)) {
      const where = `${path}[${printable(key)}]`
      map.set(keyOf(field, key, where), readInside(field.message, element, where, inElement))
    }
  } else readLeaf(target, field, value, path)
}

/** Of a oneof, one member may be given. */
export function refuseSecond(target: ReflectMessage, field: DescField, path: string): void {
  const taken = field.oneof && target.oneofCase(field.oneof)
  if (taken && taken !== field) throw invalidField(path, `excludes ${taken.name}; give one of them`)
}

/** A key of a map as its type wants it: JSON has strings only. */
function keyOf(field: DescField & { fieldKind: 'map' }, key: string, path: string) {
  const scratch = reflect(field.parent, create(field.parent))
  readLeaf(scratch, field, { [key]: {} }, path)
  return [...scratch.get(field).keys()][0] ?? key
}
