// Reads a JSON object into a message, field by field, so that an error can name the path of a wrong value.
import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf'
import { create, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { invalidField } from '../../aip/errors.ts'
import { findField, isBranch } from '../../aip/field-path.ts'
import type { JsonObject } from './read-leaf.ts'
import { describe, isObject, readableEntries, readLeaf } from './read-leaf.ts'

export type ReadOptions = {
  /** Called for each path that the object contains; a list, a map and an empty object count as one path. */
  onPath(path: string): void
  /** Called for each key that is not a field. */
  onUnknown(path: string): void
  /** Called for each key in proto spelling, unless both spellings are the same. */
  onProtoName(): void
}

export const ignoreAll: ReadOptions = { onPath() {}, onUnknown() {}, onProtoName() {} }

const maxDepth = 50

export function readJson(
  target: ReflectMessage,
  json: JsonValue,
  options = ignoreAll,
  path = '',
  depth = 0,
): void {
  if (!isObject(json)) throw invalidField(path || 'body', `must be a JSON object, not ${describe(json)}`)
  if (depth > maxDepth) throw invalidField(path, 'is nested too deeply')
  const prefix = path === '' ? '' : `${path}.`
  const { values, unknownKeys } = valuesByField(target.desc, json, options)
  for (const key of unknownKeys) options.onUnknown(prefix + key)
  for (const [field, value] of values) {
    const hasInnerPaths = isBranch(field) && isObject(value) && Object.keys(value).length > 0
    if (!hasInnerPaths) options.onPath(prefix + field.name)
    if (value !== null) readField(target, field, value, options, prefix + field.name, depth)
  }
}

/** If a field appears in both spellings, the last one counts, as for a repeated key in JSON.parse. */
function valuesByField(desc: DescMessage, json: JsonObject, { onProtoName }: ReadOptions) {
  const values = new Map<DescField, JsonValue>()
  const unknownKeys: string[] = []
  for (const [key, value] of Object.entries(json)) {
    const field = findField(desc, key)
    if (field) {
      values.set(field, value)
      if (key === field.name && key !== field.jsonName) onProtoName()
    } else unknownKeys.push(printable(key))
  }
  return { values, unknownKeys }
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
  requireSoleMember(target, field, path)
  const readInside = (desc: DescMessage, json: JsonValue, innerPath: string, innerOptions: ReadOptions) => {
    const inner = reflect(desc, create(desc))
    readJson(inner, json, innerOptions, innerPath, depth + 1)
    return inner
  }
  // A list or a map counts as one path, so the paths inside its elements are not reported.
  const elementOptions = { ...options, onPath() {} }
  if (isBranch(field)) target.set(field, readInside(field.message, value, path, options))
  else if (field.fieldKind === 'list' && field.listKind === 'message') {
    if (!Array.isArray(value)) throw invalidField(path, `must be a JSON array, not ${describe(value)}`)
    const list = target.get(field)
    for (const [at, element] of readableEntries(field, value, path).entries())
      list.add(readInside(field.message, element, `${path}[${at}]`, elementOptions))
  } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
    if (!isObject(value)) throw invalidField(path, `must be a JSON object, not ${describe(value)}`)
    const map = target.get(field)
    for (const [key, element] of Object.entries(readableEntries(field, value, path))) {
      const entryPath = `${path}[${printable(key)}]`
      map.set(keyOf(field, key, entryPath), readInside(field.message, element, entryPath, elementOptions))
    }
  } else readLeaf(target, field, value, path)
}

/** At most one member of a oneof may be set. */
export function requireSoleMember(target: ReflectMessage, field: DescField, path: string): void {
  const other = field.oneof && target.oneofCase(field.oneof)
  if (other && other !== field)
    throw invalidField(path, `cannot be set together with ${other.name}; set one of them`, [other.name])
}

/** Converts a key of a JSON object, which is always a string, to the key type of the map. */
function keyOf(field: DescField & { fieldKind: 'map' }, key: string, path: string) {
  const scratch = reflect(field.parent, create(field.parent))
  try {
    readLeaf(scratch, field, { [key]: {} }, path)
  } catch (error) {
    if (field.mapKey === ScalarType.STRING) throw error
    const expected = field.mapKey === ScalarType.BOOL ? 'true or false' : 'a whole number in range'
    throw invalidField(path, `must have ${expected} as its key`)
  }
  return [...scratch.get(field).keys()][0] ?? key
}
