// A resource as a document, in JSON or YAML: from a file or a pipe, in either spelling of its fields.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { isOutputOnly } from '@stemma/api/method.ts'
import { parse } from 'yaml'
import { UsageError } from '../usage.ts'
import { isWalked } from './flags.ts'

/** JSON is YAML as well, so one reader does for both. */
export function readDocument(text: string, from: string): JsonObject {
  let content: unknown
  try {
    content = parse(text, { maxAliasCount: 100 })
  } catch (error) {
    throw new UsageError(`${from} is neither JSON nor YAML: ${(error as Error).message.split('\n')[0]}`)
  }
  if (!isObject(content)) throw new UsageError(`${from} must hold one object with the fields of the resource`)
  // Times that YAML would take for dates, and the like, become what JSON has for them.
  return JSON.parse(JSON.stringify(content)) as JsonObject
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** With the names of JSON, and without what only the server says, so that what `get` printed can be given back. */
export function tidy(message: DescMessage, document: JsonObject, from: string): JsonObject {
  const entries = Object.entries(document).flatMap(([key, value]): [string, JsonValue][] => {
    const field = message.fields.find(({ name, jsonName }) => key === name || key === jsonName)
    if (!field) throw unknown(message, key, from)
    return isOutputOnly(field) || value === null ? [] : [[field.jsonName, tidyValue(field, value, from)]]
  })
  return Object.fromEntries(entries)
}

function tidyValue(field: DescField, value: JsonValue, from: string): JsonValue {
  return isWalked(field) && isObject(value) ? tidy(field.message, value, from) : value
}

function unknown(message: DescMessage, key: string, from: string): UsageError {
  const names = message.fields.filter((field) => !isOutputOnly(field)).map(({ jsonName }) => jsonName)
  return new UsageError(`${from}: there is no field ${JSON.stringify(key)}; there is ${names.join(', ')}`)
}
