// Reads a JSON object into a message, field by field, so that what is wrong can be named by its path.
import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf'
import { create, mergeFromJson } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { invalidField } from '../../aip/errors.ts'
import { findField, isBranch } from '../../aip/field-path.ts'

type JsonObject = { [key: string]: JsonValue }

export type ReadOptions = {
  /** Told of each path that the object holds; a list or map is one path, and so is an empty object. */
  onPath?(path: string): void
  /** Told of each key that names no field. */
  onUnknown?(path: string): void
}

const deepest = 50

export function readJson(
  target: ReflectMessage,
  json: JsonValue,
  options: ReadOptions = {},
  prefix = '',
  depth = 0,
): void {
  if (!isObject(json)) throw invalidField(prefix || 'body', `must be a JSON object, not ${describe(json)}`)
  if (depth > deepest) throw invalidField(prefix, 'is nested too deeply')
  for (const [key, value] of Object.entries(json)) {
    const field = findField(target.desc, key)
    if (!field) {
      options.onUnknown?.(prefix + key.slice(0, 100).toWellFormed())
      continue
    }
    const path = prefix + field.name
    const isEntered = isBranch(field) && isObject(value) && Object.keys(value).length > 0
    if (!isEntered) options.onPath?.(path)
    if (value !== null) readField(target, field, value, path, options, depth)
  }
}

function readField(
  target: ReflectMessage,
  field: DescField,
  value: JsonValue,
  path: string,
  options: ReadOptions,
  depth: number,
): void {
  if (field.oneof && target.oneofCase(field.oneof) && target.oneofCase(field.oneof) !== field) {
    throw invalidField(path, `excludes ${target.oneofCase(field.oneof)?.name}; give one of them`)
  }
  if (isBranch(field)) {
    const inner = reflect(field.message, create(field.message))
    readJson(inner, value, options, `${path}.`, depth + 1)
    target.set(field, inner)
  } else if (field.fieldKind === 'list' && field.listKind === 'message') {
    if (!Array.isArray(value)) throw invalidField(path, `must be a JSON array, not ${describe(value)}`)
    const list = target.get(field)
    value.forEach((element, at) => {
      list.add(readElement(field.message, element, `${path}[${at}]`, depth))
    })
  } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
    if (!isObject(value)) throw invalidField(path, `must be a JSON object, not ${describe(value)}`)
    const map = target.get(field)
    for (const [key, element] of Object.entries(value))
      map.set(key, readElement(field.message, element, `${path}.${key}`, depth))
  } else readLeaf(target, field, value, path)
}

function readElement(desc: DescMessage, element: JsonValue, path: string, depth: number): ReflectMessage {
  const inner = reflect(desc, create(desc))
  readJson(inner, element, {}, `${path}.`, depth + 1)
  return inner
}

export function readLeaf(target: ReflectMessage, field: DescField, value: JsonValue, path: string): void {
  try {
    mergeFromJson(target.desc, target.message, { [field.jsonName]: value })
  } catch {
    throw invalidField(path, `must be ${expected(field)}, not ${describe(value)}`)
  }
}

function expected(field: DescField): string {
  switch (field.fieldKind) {
    case 'enum':
      return `one of ${field.enum.values
        .map(({ name }) => name)
        .slice(0, 12)
        .join(', ')}`
    case 'list':
      return 'a JSON array of the right values'
    case 'map':
      return 'a JSON object of the right values'
    case 'message':
      return `a ${field.message.name} as JSON writes it`
    case 'scalar':
      return scalarNames[field.scalar] ?? 'a number in range'
  }
}

const scalarNames: Record<number, string> = { 8: 'true or false', 9: 'a string', 12: 'base64 text' }

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function describe(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 40)}…`.toWellFormed() : text
}
