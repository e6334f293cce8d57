// A request as its route has it: variables of the path, the body, and the rest as query.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { invalidArgument } from './errors.ts'
import type { Route } from './route.ts'

export type HttpRequest = {
  verb: string
  /** Path and query. */
  target: string
  body: JsonValue | undefined
}

export function transcode({ verb, path, body, isListBody }: Route, request: JsonObject): HttpRequest {
  const rest = copyOf(request)
  const filled = path.replace(/\{([^=}]+)(?:=([^}]*))?\}/g, (_, name: string, pattern = '*') =>
    encodePath(name, String(take(rest, name) ?? ''), pattern === '**'),
  )
  // To create at the root is to leave the parent out.
  const place = verb === 'POST' ? filled.replace(/\/$/, '') : filled
  if (body === '*') return { verb, target: place, body: rest }
  const content = body === undefined ? undefined : (take(rest, body) ?? (isListBody ? [] : {}))
  const query = parametersOf(rest).join('&')
  return { verb, target: query === '' ? place : `${place}?${query}`, body: content }
}

/** As JSON has it, also where it does not go into the body: without what is undefined, and dates as texts. */
function copyOf(request: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(request)) as JsonObject
  } catch (error) {
    throw invalidArgument('request', (error as Error).message)
  }
}

/** Takes a value out of the request. */
function take(from: JsonObject, path: string): JsonValue | undefined {
  const [first = '', ...others] = path.split('.')
  const value = from[first]
  if (others.length > 0)
    return typeof value === 'object' ? take((value ?? {}) as JsonObject, others.join('.')) : undefined
  delete from[first]
  return value
}

/** `.` and `..` would be folded away on the way, and the call would be another. */
function encodePath(name: string, value: string, isMany: boolean): string {
  const segments = isMany ? value.split('/') : [value]
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw invalidArgument(name, `${JSON.stringify(value)} is no uid: it has a segment of dots`)
  return segments.map(encodeURIComponent).join('/')
}

/** What is null says nothing, as in a body. */
function parametersOf(value: JsonValue, name = ''): string[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap((one) => parametersOf(one, name))
  if (typeof value !== 'object') return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`]
  return Object.entries(value).flatMap(([key, one]) =>
    parametersOf(one, name === '' ? key : `${name}.${key}`),
  )
}
