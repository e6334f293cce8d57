// Makes the request message of a call from path, query and body, by the http rule of its route.
import type { DescField, DescMessage, JsonValue, Message } from '@bufbuild/protobuf'
import { create, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import type { HttpBinding } from '@stemma/api/http-binding.ts'
import { isValidateOnly, validateOnlyField } from '@stemma/api/validation.ts'
import { invalidField, malformed } from '../../aip/errors.ts'
import { findField, isBranch, resolvePath } from '../../aip/field-path.ts'
import { resemblesLimit } from '../../aip/token-limit-names.ts'
import { unknownParameter } from './query-names.ts'
import { ignoreAll, readJson } from './read-json.ts'
import { readQuery } from './read-query.ts'
import type { CallerSpelling, Match } from './routes.ts'

export function bindRequest(match: Match, query: string, body: string): Message {
  const { route, fields } = match
  const { input } = route.endpoint.method.desc
  const bodyField = route.binding.body
  if (query === '' && body === '' && bodyField === '') return fromPath(input, fields)
  const request = reflect(input, create(input))
  const spelling: CallerSpelling = { query, bodyNames: body === '' && bodyField === '' ? undefined : 'json' }
  match.spelling = spelling
  const isBound = (path: string) => {
    if (path === validateOnlyField) return false
    if (bodyField === '*') return true
    return [...fields.keys(), bodyField].some(
      (bound) => bound !== '' && (path === bound || path.startsWith(`${bound}.`)),
    )
  }
  const meansLimit = openLimitNames()
  const isStrictFor = (name: string) =>
    isVersion2(input) || meansValidateOnly(name) || (isTokenExchange(input) && meansLimit(name))
  readQuery(request, query, { isBound, isStrictFor })
  const validates = isValidateOnly(request.message)
  const bodyIsWholeRequest = bodyField === '*' || (bodyField === '' && route.binding.verb === 'POST')
  // Published clients send the request of the token exchange as JSON, although its http rule has no body.
  if (isTokenExchange(input) && bodyIsWholeRequest)
    readTokenExchange(request, parse(body), spelling, meansLimit)
  else if (bodyField === '*' && route.binding.verb === 'PATCH' && maskFieldOf(request))
    readUpdate(request, parse(body), spelling)
  else if (bodyIsWholeRequest)
    readJson(request, parse(body), {
      ...ignoreAll,
      onProtoName: () => markProtoNames(spelling),
      onUnknown: refuseValidateOnly,
    })
  else if (bodyField !== '') readResource(request, route.binding, parse(body), spelling)
  for (const [path, value] of fields) setString(request, path, value)
  // A body that says the opposite must not turn a validation into a write.
  if (validates) (request.message as { validateOnly?: boolean }).validateOnly = true
  return request.message
}

/**
 * Whether a path names validate_only, at any depth. Such a name is never ignored: the call would
 * write, although its caller expects that it only validates.
 */
const meansValidateOnly = (path: string) => /(?:^|\.)validateonly$/i.test(path.replaceAll('_', ''))

function refuseValidateOnly(path: string): void {
  if (meansValidateOnly(path))
    throw invalidField(path, 'is not a field of this call; calls that can be validated have validate_only')
}

function markProtoNames(spelling: CallerSpelling): void {
  spelling.bodyNames = 'proto'
}

/** Version 2 rejects unknown parameters, so that a misspelt filter is noticed. Version 1 has always ignored them. */
const isVersion2 = ({ typeName }: DescMessage) => typeName.includes('.v2beta1.')

const isTokenExchange = ({ typeName }: DescMessage) => typeName.startsWith('platform.oidc.')

/** Clients send a few parameters that this server does not know, such as those of RFC 8693. */
const maxUnknownNames = 50

/**
 * Returns a function that tells whether an unknown name in a token exchange may be meant as a
 * limit. It throws after too many names: comparing one takes several microseconds, and the exchange
 * needs no token.
 */
function openLimitNames(): (name: string) => boolean {
  let count = 0
  return (name) => {
    count++
    if (count > maxUnknownNames)
      throw malformed(`a token exchange must have at most ${maxUnknownNames} unknown parameters`)
    return resemblesLimit(name)
  }
}

/**
 * `scope`, `scopes` and `cap` limit what a token may do. If one of them is empty or misspelt, the request is rejected,
 * because otherwise the token would have no limit.
 */
function readTokenExchange(
  request: ReflectMessage,
  json: JsonValue,
  spelling: CallerSpelling,
  meansLimit: (name: string) => boolean,
): void {
  const paths: string[] = []
  readJson(request, json, {
    onProtoName: () => markProtoNames(spelling),
    onPath: (path) => paths.push(path),
    onUnknown(name) {
      if (meansLimit(name)) throw unknownParameter(request.desc, name, () => false)
    },
  })
  for (const path of paths) {
    const field = findField(request.desc, path)
    if (field && resemblesLimit(path) && !request.isSet(field))
      throw invalidField(path, 'must not be empty; omit it for no limit')
  }
}

/** The fast path for requests without query and body, as most are: it sets strings without reflection. */
function fromPath(input: DescMessage, fields: ReadonlyMap<string, string>): Message {
  const message = create(input)
  for (const [path, value] of fields) {
    const [field, ...deeper] = fieldsOf(input, path)
    const isString = field?.fieldKind === 'scalar' && field.scalar === ScalarType.STRING && !field.oneof
    if (field && isString && deeper.length === 0)
      (message as unknown as Record<string, string>)[field.localName] = value
    else setString(reflect(input, message), path, value)
  }
  return message
}

/** An update without a mask changes the fields that its body contains. */
function readResource(
  request: ReflectMessage,
  { body, verb }: HttpBinding,
  json: JsonValue,
  spelling: CallerSpelling,
): void {
  const field = findField(request.desc, body)
  const onProtoName = () => markProtoNames(spelling)
  if (field?.fieldKind === 'list') {
    readJson(
      request,
      { [field.jsonName]: json },
      { ...ignoreAll, onProtoName, onUnknown: refuseValidateOnly },
    )
    return
  }
  if (!field || !isBranch(field)) throw new Error(`${request.desc.typeName} has no message field ${body}`)
  const resource = reflect(field.message, create(field.message))
  request.set(field, resource)
  const needsMask = verb === 'PATCH' && !hasMask(request)
  const paths: string[] = []
  readJson(resource, json, {
    onProtoName,
    onPath: (path) => paths.push(path),
    onUnknown(path) {
      if (meansValidateOnly(path)) throw invalidField(path, 'must be in the query; the body is the resource')
      // If a misspelt field were ignored, the update would succeed without changing the field.
      if (needsMask) throw invalidField(path, 'is not a field of this resource')
    },
  })
  if (needsMask) setMask(request, paths)
}

/** An update whose body is the whole request: the resource in its field, and the mask if there is one. */
function readUpdate(request: ReflectMessage, json: JsonValue, spelling: CallerSpelling): void {
  const paths: string[] = []
  const unknown: string[] = []
  readJson(request, json, {
    onProtoName: () => markProtoNames(spelling),
    onPath: (path) => paths.push(path),
    onUnknown(path) {
      if (meansValidateOnly(path))
        throw invalidField(path, 'is not a field here; the request has the field validate_only')
      unknown.push(path)
    },
  })
  if (hasMask(request)) return
  const [misspelt] = unknown
  if (misspelt !== undefined) throw invalidField(misspelt, 'is not a field of this resource')
  setMask(
    request,
    paths.flatMap((path) => (path.includes('.') ? [path.slice(path.indexOf('.') + 1)] : [])),
  )
}

function parse(body: string): JsonValue {
  if (body.trim() === '') return {}
  try {
    return JSON.parse(body) as JsonValue
  } catch {
    throw malformed('the body is not well-formed JSON')
  }
}

/** A cache of the fields that path variables set. All paths come from the contract, so the cache cannot grow large. */
const resolvedPaths = new Map<DescMessage, Map<string, DescField[]>>()

function fieldsOf(desc: DescMessage, path: string): DescField[] {
  let paths = resolvedPaths.get(desc)
  if (!paths) {
    paths = new Map()
    resolvedPaths.set(desc, paths)
  }
  let fields = paths.get(path)
  if (!fields) {
    fields = resolvePath(desc, path) ?? []
    paths.set(path, fields)
  }
  return fields
}

/** Sets a variable of the URL path. It overwrites a value from the body. */
function setString(request: ReflectMessage, path: string, value: string): void {
  let message = request
  for (const field of fieldsOf(request.desc, path)) {
    if (isBranch(field)) {
      if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)))
      message = message.get(field)
    } else message.set(field, value)
  }
}

const maskFieldOf = (request: ReflectMessage) => findField(request.desc, 'update_mask')

function hasMask(request: ReflectMessage): boolean {
  const field = maskFieldOf(request)
  if (field?.fieldKind !== 'message' || !request.isSet(field)) return false
  const { paths } = request.get(field).message as FieldMask // the contract's masks are FieldMasks
  return paths.some((path) => path.trim() !== '')
}

function setMask(request: ReflectMessage, paths: string[]): void {
  const field = maskFieldOf(request)
  if (field?.fieldKind === 'message')
    request.set(field, reflect(field.message, create(field.message, { paths })))
}
