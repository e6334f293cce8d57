// Resources as documents in JSON or YAML, with field names in JSON or proto spelling.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { isOutputOnly } from '@stemma/api/method.ts'
import { UsageError } from '../failure.ts'
import { hasNestedFields } from './request-flags.ts'

/** Limits alias expansion in YAML, which could otherwise grow exponentially. */
const maxAliasCount = 100

/** Parses JSON or YAML; JSON is a subset of YAML. `source` is the file name for errors. */
export async function parseDocument(text: string, source: string): Promise<JsonObject> {
  // Loaded only here, because most commands read no document.
  const { parse } = await import('yaml')
  let content: unknown
  try {
    content = parse(text, { maxAliasCount })
  } catch (error) {
    throw new UsageError(`${source} is neither JSON nor YAML: ${(error as Error).message.split('\n')[0]}`)
  }
  if (!isObject(content)) throw new UsageError(`${source} must contain one object`)
  // A JSON round trip converts values that only YAML has, such as dates.
  return JSON.parse(JSON.stringify(content)) as JsonObject
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Converts field names to JSON names and omits output-only fields, so that the output of `get` can be sent back. */
export function normalizeDocument(message: DescMessage, document: JsonObject, source: string): JsonObject {
  const entries = Object.entries(document).flatMap(([key, value]): [string, JsonValue][] => {
    const field = message.fields.find(({ name, jsonName }) => key === name || key === jsonName)
    if (!field) throw unknownField(message, key, source)
    if (isOutputOnly(field) || value === null) return []
    return [[field.jsonName, normalizeValue(field, value, source)]]
  })
  return Object.fromEntries(entries)
}

function normalizeValue(field: DescField, value: JsonValue, source: string): JsonValue {
  return hasNestedFields(field) && isObject(value) ? normalizeDocument(field.message, value, source) : value
}

function unknownField(message: DescMessage, key: string, source: string): UsageError {
  const names = message.fields.filter((field) => !isOutputOnly(field)).map(({ jsonName }) => jsonName)
  return new UsageError(
    `${source} has an unknown field ${JSON.stringify(key)}; known fields: ${names.join(', ')}`,
  )
}
