// The fields of a resource that an event changed, computed from the bytes before and after.
import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import { writeJson } from '../../wire/json-writer.ts'

export type Change = {
  path: string
  before?: JsonValue
  after?: JsonValue
  truncated?: boolean
  /** Whether the field is never shown, such as a secret. */
  hidden?: boolean
}

const maxChanges = 200
/** In characters of JSON. */
const maxValueLength = 4096

/** Fields that every resource has and no caller sets. */
const bookkeeping = new Set(['uid', 'createTime', 'updateTime'])

export function changesBetween(before: JsonObject, after: JsonObject): Change[] {
  const changes: Change[] = []
  compare('', before, after, changes)
  return changes.filter(({ path }) => !bookkeeping.has(path))
}

/** Objects are compared field by field, lists and other values as a whole. */
function compare(path: string, before: JsonObject, after: JsonObject, changes: Change[]): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (changes.length >= maxChanges) return
    const [from, to] = [ownValue(before, name), ownValue(after, name)]
    const at = path === '' ? name : `${path}.${name}`
    if (isObject(from) && isObject(to)) compare(at, from, to, changes)
    else if (!isSame(from, to)) changes.push(changeOf(at, from, to))
  }
}

/** Keys of maps are chosen by callers, and every object inherits values under keys such as `constructor`. */
const ownValue = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

function changeOf(path: string, before: JsonValue | undefined, after: JsonValue | undefined): Change {
  if (isLong(before) || isLong(after)) return { path, truncated: true }
  return { path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isSame = (a: JsonValue | undefined, b: JsonValue | undefined) =>
  a === b || JSON.stringify(a) === JSON.stringify(b)

const isLong = (value: JsonValue | undefined) => (JSON.stringify(value)?.length ?? 0) > maxValueLength

/** A resource as JSON, without fields that have their default value. Empty if there is no resource. */
export function resourceJson(desc: DescMessage | undefined, bytes: Uint8Array | null): JsonObject {
  if (!desc || !bytes) return {}
  const json = JSON.parse(writeJson(desc, fromBinary(desc, bytes))) as JsonObject
  return withoutDefaults(json)
}

const withoutDefaults = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => !isDefault(value)))

const isDefault = (value: JsonValue | undefined) =>
  !value || (typeof value === 'object' && Object.keys(value).length === 0)
