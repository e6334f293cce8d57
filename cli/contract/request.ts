// Builds the request of a command from a document and flags.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { fromJson } from '@bufbuild/protobuf'
import { UsageError } from '../failure.ts'
import type { Command } from './commands.ts'
import { isObject, normalizeDocument } from './document.ts'
import { hasNestedFields } from './request-flags.ts'
import { camel } from './spelling.ts'

export type FieldValue = { path: DescField[]; value: JsonValue }
export type Document = { content: JsonObject; source: string }

/**
 * `document` is the resource, or the whole request if the method has no resource. `values` come from flags and take
 * precedence over the document.
 */
export function buildRequest(command: Command, values: FieldValue[], document?: Document): JsonObject {
  const { resource, desc } = command.method
  const request: JsonObject = {}
  if (document) {
    const { content, source } = document
    const normalized = normalizeDocument(resource?.message ?? desc.input, content, source)
    if (resource) request[resource.jsonName] = normalized
    else Object.assign(request, normalized)
  }
  for (const { path, value } of values) setField(request, path, value)
  if (command.kind === 'update') addMask(command, request)
  return request
}

function setField(object: JsonObject, [field, ...rest]: DescField[], value: JsonValue): void {
  if (!field) return
  if (rest.length === 0) {
    object[field.jsonName] = value
    return
  }
  const inner = object[field.jsonName] ?? {}
  if (!isObject(inner))
    throw new UsageError(`${field.jsonName} must be an object, because a flag sets a field in it`)
  object[field.jsonName] = inner
  setField(inner, rest, value)
}

/** Adds an update mask of the fields that were given, so that the update changes only these. */
function addMask(command: Command, request: JsonObject): void {
  const { resource } = command.method
  if (!resource?.message || request.updateMask !== undefined) return
  const paths = pathsOf(resource.message, (request[resource.jsonName] ?? {}) as JsonObject)
  const target = command.target.at(-1)?.jsonName
  const mask = paths.filter((path) => path !== target)
  if (mask.length === 0)
    throw new UsageError('nothing to change; set at least one field with a flag or with -f FILE')
  request.updateMask = mask.join(',')
}

/**
 * The paths of all fields that are present. A nested message is replaced by the paths of its
 * fields, unless it is empty. ProtoJSON spells masks in camelCase, even if a field declares another
 * JSON name, such as `sync_config`.
 */
function pathsOf(message: DescMessage, content: JsonObject): string[] {
  return message.fields.flatMap((field): string[] => {
    const value = content[field.jsonName]
    if (value === undefined) return []
    const name = camel(field.name)
    if (!hasNestedFields(field)) return [name]
    const inner = pathsOf(field.message, value as JsonObject)
    return inner.length === 0 ? [name] : inner.map((path) => `${name}.${path}`)
  })
}

/** Fails if the request cannot be encoded. The server checks the rules for values. */
export function requireEncodable({ method }: Command, request: JsonObject): void {
  try {
    fromJson(method.desc.input, request)
  } catch (error) {
    throw new UsageError(plainMessage((error as Error).message))
  }
}

function plainMessage(message: string): string {
  const [, first, second] = /oneof set multiple times by (\w+) and (\w+)/.exec(message) ?? []
  if (first !== undefined && second !== undefined)
    return `${camel(first)} and ${camel(second)} cannot be set together`
  return message.replace(/^cannot decode (?:message|field) \S*?(\w+) from JSON: /, '$1: ')
}
