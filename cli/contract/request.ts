// The request of a command: a document, what the flags say over it, and the mask of an update.
import type { DescField, DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { fromJson } from '@bufbuild/protobuf'
import { UsageError } from '../usage.ts'
import type { Command } from './commands.ts'
import { tidy } from './document.ts'
import { isWalked } from './flags.ts'
import { camel } from './spelling.ts'

export type Given = { path: DescField[]; value: JsonValue }

/** A document holds the resource where the method takes one, or else the request. */
export function requestOf(
  command: Command,
  given: Given[],
  document?: { content: JsonObject; from: string },
): JsonObject {
  const { resource, desc } = command.method
  const request: JsonObject = {}
  if (document) {
    const content = tidy(resource?.message ?? desc.input, document.content, document.from)
    if (resource) request[resource.jsonName] = content
    else Object.assign(request, content)
  }
  for (const { path, value } of given) put(request, path, value)
  if (command.kind === 'update') addMask(command, request)
  return request
}

function put(into: JsonObject, [field, ...rest]: DescField[], value: JsonValue): void {
  if (!field) return
  if (rest.length === 0) {
    into[field.jsonName] = value
    return
  }
  const inside = (into[field.jsonName] ?? {}) as JsonObject
  into[field.jsonName] = inside
  put(inside, rest, value)
}

function addMask(command: Command, request: JsonObject): void {
  const { resource } = command.method
  if (!resource?.message || request.updateMask !== undefined) return
  const paths = pathsOf(resource.message, (request[resource.jsonName] ?? {}) as JsonObject)
  const target = command.target.at(-1)?.jsonName
  const mask = paths.filter((path) => path !== target)
  if (mask.length === 0)
    throw new UsageError('there is nothing to change; say what, by a flag or with -f FILE')
  request.updateMask = mask.join(',')
}

/** The fields that hold something, as deep as single fields can be named. */
function pathsOf(message: DescMessage, content: JsonObject): string[] {
  return message.fields.flatMap((field): string[] => {
    const value = content[field.jsonName]
    if (value === undefined) return []
    if (!isWalked(field)) return [field.jsonName]
    const inside = pathsOf(field.message, value as JsonObject)
    return inside.length === 0 ? [field.jsonName] : inside.map((path) => `${field.jsonName}.${path}`)
  })
}

/** Says what cannot be sent at all, before it is. Values are the server's to judge. */
export function requireSendable({ method }: Command, request: JsonObject): void {
  try {
    fromJson(method.desc.input, request)
  } catch (error) {
    throw new UsageError(inWords((error as Error).message))
  }
}

function inWords(message: string): string {
  const [, one, other] = /oneof set multiple times by (\w+) and (\w+)/.exec(message) ?? []
  if (one !== undefined && other !== undefined)
    return `${camel(one)} and ${camel(other)} exclude each other; give one`
  return message.replace(/^cannot decode (?:message|field) \S*?(\w+) from JSON: /, '$1: ')
}
