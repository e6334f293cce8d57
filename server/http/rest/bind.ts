// Makes the request message of a route from path, query and body.
import type { DescField, DescMessage, JsonValue, Message } from '@bufbuild/protobuf'
import { create, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { invalidField, malformed } from '../../aip/errors.ts'
import { findField, isBranch, resolvePath } from '../../aip/field-path.ts'
import { readJson } from './read-json.ts'
import { readQuery } from './read-query.ts'
import type { Match } from './routes.ts'

export function bindRequest({ route, fields }: Match, query: string, body: string): Message {
  const { input } = route.endpoint.method.desc
  const bodyField = route.binding.body
  if (query === '' && body === '' && bodyField === '') return fromPath(input, fields)
  const request = reflect(input, create(input))
  readQuery(request, query, (path) => {
    if (bodyField === '*') return true
    return [...fields.keys(), bodyField].some(
      (bound) => bound !== '' && (path === bound || path.startsWith(`${bound}.`)),
    )
  })
  // Published clients send what is asked of the exchange as JSON, although the contract names no body for it.
  const isWhole = bodyField === '*' || (bodyField === '' && route.binding.verb === 'POST')
  if (isWhole) readJson(request, parse(body))
  else if (bodyField !== '') readResource(request, bodyField, parse(body), route.binding.verb === 'PATCH')
  for (const [path, value] of fields) setText(request, path, value)
  return request.message
}

/** Of a request that its path tells whole, as most do. */
function fromPath(input: DescMessage, fields: ReadonlyMap<string, string>): Message {
  const message = create(input)
  for (const [path, value] of fields) {
    const [field, ...deeper] = fieldsOf(input, path)
    const isText = field?.fieldKind === 'scalar' && field.scalar === ScalarType.STRING && !field.oneof
    if (field && isText && deeper.length === 0)
      (message as unknown as Record<string, string>)[field.localName] = value
    else setText(reflect(input, message), path, value)
  }
  return message
}

/** What an update's body holds is its mask where it came without one. */
function readResource(request: ReflectMessage, bodyField: string, json: JsonValue, isPatch: boolean): void {
  const field = findField(request.desc, bodyField)
  if (field?.fieldKind === 'list') {
    readJson(request, { [field.jsonName]: json })
    return
  }
  if (!field || !isBranch(field))
    throw new Error(`${request.desc.typeName} has no message field ${bodyField}`)
  const resource = reflect(field.message, create(field.message))
  request.set(field, resource)
  const isMasked = !isPatch || hasMask(request)
  const paths: string[] = []
  readJson(resource, json, {
    onPath: (path) => paths.push(path),
    onUnknown(path) {
      // A typo must not look like success.
      if (!isMasked) throw invalidField(path, 'is no field of this resource')
    },
  })
  if (!isMasked) setMask(request, paths)
}

function parse(body: string): JsonValue {
  if (body.trim() === '') return {}
  try {
    return JSON.parse(body) as JsonValue
  } catch {
    throw malformed('the body is not well-formed JSON')
  }
}

const known = new WeakMap<DescMessage, Map<string, DescField[]>>()

/** What a variable of a route leads through: there are few, and each comes with many calls. */
function fieldsOf(desc: DescMessage, path: string): DescField[] {
  let paths = known.get(desc)
  if (!paths) {
    paths = new Map()
    known.set(desc, paths)
  }
  let fields = paths.get(path)
  if (!fields) {
    fields = resolvePath(desc, path) ?? []
    paths.set(path, fields)
  }
  return fields
}

/** A path variable beats whatever the body says. */
function setText(request: ReflectMessage, path: string, value: string): void {
  let message = request
  for (const field of fieldsOf(request.desc, path)) {
    if (isBranch(field)) {
      if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)))
      message = message.get(field)
    } else message.set(field, value)
  }
}

const maskOf = (request: ReflectMessage) => findField(request.desc, 'update_mask')

function hasMask(request: ReflectMessage): boolean {
  const field = maskOf(request)
  if (field?.fieldKind !== 'message' || !request.isSet(field)) return false
  const { paths } = request.get(field).message as FieldMask // the contract's masks are FieldMasks
  return paths.some((path) => path.trim() !== '')
}

function setMask(request: ReflectMessage, paths: string[]): void {
  const field = maskOf(request)
  if (field?.fieldKind === 'message')
    request.set(field, reflect(field.message, create(field.message, { paths })))
}
