import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { Route } from './route.ts'
import { invalidArgument } from './stemma-error.ts'

/**
 * An HTTP request with a JSON body, a form or no body.
 *
 * @example
 * ```ts
 * const request: HttpRequest = { verb: 'GET', target: '/iam/v2beta1/groups?pageSize=5', body: undefined }
 * ```
 */
export type HttpRequest = {
  verb: string
  /** Path and query. */
  target: string
  body: JsonValue | undefined
  /** The query of a read that is too long for a URL. Sent with POST and the header `X-HTTP-Method-Override: GET`. */
  form?: string
}

/**
 * Maximum length of path and query. The server accepts 8 KiB, but proxies may accept less, and the path of the base URL
 * is added.
 */
const maxTargetLength = 4000

/**
 * Splits a request into path variables, body and query parameters as its route defines. The server does the
 * inverse, with the http rule of the RPC.
 *
 * @example
 * ```ts
 * const route = { verb: 'PATCH', path: '/iam/v2beta1/groups/{group.uid=**}', body: 'group' }
 * transcode(route, { group: { uid: 'a/b', name: 'crew' }, updateMask: 'name' })
 * // { verb: 'PATCH', target: '/iam/v2beta1/groups/a/b?updateMask=name', body: { name: 'crew' } }
 * ```
 */
export function transcode({ verb, path, body, isListBody }: Route, request: JsonObject): HttpRequest {
  const remainingFields = copyOf(request)
  const filledPath = path.replace(/\{([^=}]+)(?:=([^}]*))?\}/g, (_, name: string, pattern = '*') =>
    encodePath(name, String(remove(remainingFields, name) ?? ''), pattern === '**'),
  )
  // A resource at the root is created without a parent: the path then ends before the slash.
  const target = verb === 'POST' ? filledPath.replace(/\/$/, '') : filledPath
  if (body === '*') return { verb, target, body: remainingFields }
  const content = body === undefined ? undefined : (remove(remainingFields, body) ?? (isListBody ? [] : {}))
  const query = parametersOf(remainingFields).join('&')
  if (verb === 'GET' && target.length + query.length > maxTargetLength)
    return { verb: 'POST', target, body: undefined, form: query }
  return { verb, target: query === '' ? target : `${target}?${query}`, body: content }
}

/** A JSON round trip drops undefined values and converts dates to strings, so path and query agree with the body. */
function copyOf(request: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(request)) as JsonObject
  } catch (error) {
    throw invalidArgument('request', (error as Error).message)
  }
}

/** Removes the value at a field path and returns it. */
function remove(object: JsonObject, path: string): JsonValue | undefined {
  const [first = '', ...others] = path.split('.')
  const value = object[first]
  if (others.length > 0)
    return typeof value === 'object' ? remove((value ?? {}) as JsonObject, others.join('.')) : undefined
  delete object[first]
  return value
}

/** Rejects the segments `.` and `..`, which fetch would resolve to the path of another RPC. */
function encodePath(name: string, value: string, allowsSlashes: boolean): string {
  const segments = allowsSlashes ? value.split('/') : [value]
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw invalidArgument(name, `${JSON.stringify(value)} is not a uid: it has a segment "." or ".."`)
  return segments.map(encodeURIComponent).join('/')
}

/** Omits null, which means "not set" in a body too. */
function parametersOf(value: JsonValue, name = ''): string[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap((element) => parametersOf(element, name))
  if (typeof value !== 'object') return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`]
  return Object.entries(value).flatMap(([key, inner]) =>
    parametersOf(inner, name === '' ? key : `${name}.${key}`),
  )
}
