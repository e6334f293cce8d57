// Makes the request message of a route from path, query and body.
import type { JsonValue, Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { invalidField, malformed } from '../../aip/errors.ts'
import { findField, isBranch, resolvePath } from '../../aip/field-path.ts'
import { readJson } from './read-json.ts'
import { readQuery } from './read-query.ts'
import type { Match } from './routes.ts'

export function bindRequest({ route, fields }: Match, query: string, body: string): Message {
  const { input } = route.endpoint.method.desc
  const request = reflect(input, create(input))
  const bodyField = route.binding.body
  const mask =
    bodyField === '' ? [] : readBody(request, route.binding.body, body, query, route.binding.verb === 'PATCH')
  readQuery(request, query, (path) => {
    if (bodyField === '*') return true
    return [...fields.keys(), bodyField].some(
      (bound) => bound !== '' && (path === bound || path.startsWith(`${bound}.`)),
    )
  })
  for (const [path, value] of fields) setText(request, path, value)
  if (mask.length > 0) setImpliedMask(request, mask)
  return request.message
}

/** Answers the paths that the body holds, which are the mask of an update that came without one. */
function readBody(
  request: ReflectMessage,
  bodyField: string,
  body: string,
  query: string,
  isPatch: boolean,
): string[] {
  const json = parse(body)
  if (bodyField === '*') {
    readJson(request, json)
    return []
  }
  const field = findField(request.desc, bodyField)
  if (!field || !isBranch(field))
    throw new Error(`${request.desc.typeName} has no message field ${bodyField}`)
  const resource = reflect(field.message, create(field.message))
  request.set(field, resource)
  const hasMask = /(?:^|&)update_?[mM]ask=[^&]/.test(query)
  const mask: string[] = []
  readJson(resource, json, {
    onPath: (path) => mask.push(path),
    onUnknown(path) {
      // A typo must not look like success.
      if (isPatch && !hasMask) throw invalidField(path, 'is no field of this resource')
    },
  })
  return isPatch && !hasMask ? mask : []
}

function parse(body: string): JsonValue {
  if (body.trim() === '') return {}
  try {
    return JSON.parse(body) as JsonValue
  } catch {
    throw malformed('the body is not well-formed JSON')
  }
}

/** A path variable beats whatever the body says. */
function setText(request: ReflectMessage, path: string, value: string): void {
  let message = request
  for (const field of resolvePath(request.desc, path) ?? []) {
    if (isBranch(field)) {
      if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)))
      message = message.get(field)
    } else message.set(field, value)
  }
}

function setImpliedMask(request: ReflectMessage, paths: string[]): void {
  const field = findField(request.desc, 'update_mask')
  if (field?.fieldKind === 'message')
    request.set(field, reflect(field.message, create(field.message, { paths })))
}
