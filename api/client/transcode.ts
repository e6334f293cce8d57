// A request as its http rule has it: variables of the path, the body, and the rest as query.
import type { DescField, DescMessage, DescMethod, JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { HttpBinding } from '../http-binding.ts'
import { bindingsOf } from '../http-binding.ts'
import { invalidArgument } from './errors.ts'

export type HttpRequest = {
  verb: string
  /** Path and query. */
  target: string
  body: JsonValue | undefined
}

// Reading an option decodes it each time.
const known = new WeakMap<DescMethod, HttpBinding>()

function bindingOf(method: DescMethod): HttpBinding {
  let binding = known.get(method)
  if (!binding) {
    binding = bindingsOf(method)[0]
    if (!binding) throw new Error(`${method.parent.typeName}.${method.name} has no http rule`)
    known.set(method, binding)
  }
  return binding
}

export function transcode(method: DescMethod, request: JsonObject): HttpRequest {
  const { verb, path, body } = bindingOf(method)
  const rest = structuredClone(request)
  const filled = path.replace(/\{([^=}]+)(?:=([^}]*))?\}/g, (_, name: string, pattern = '*') =>
    encodePath(name, String(take(method.input, rest, name) ?? ''), pattern === '**'),
  )
  // To create at the root is to leave the parent out.
  const place = verb === 'POST' ? filled.replace(/\/$/, '') : filled
  if (body === '*') return { verb, target: place, body: rest }
  const content = body === '' ? undefined : (take(method.input, rest, body) ?? emptyOf(method, body))
  const query = queryOf(method.input, rest).join('&')
  return { verb, target: query === '' ? place : `${place}?${query}`, body: content }
}

const emptyOf = ({ input }: DescMethod, field: string) =>
  input.fields.find(({ name }) => name === field)?.fieldKind === 'list' ? [] : {}

/** Takes a value out of the request; its name is that of the contract. */
function take(desc: DescMessage, from: JsonObject, path: string): JsonValue | undefined {
  const [first, ...others] = path.split('.')
  const field = desc.fields.find(({ name }) => name === first)
  if (!field) throw new Error(`${desc.typeName} has no field ${path}`)
  const value = from[field.jsonName]
  if (others.length > 0 && field.message)
    return value === undefined ? undefined : take(field.message, value as JsonObject, others.join('.'))
  delete from[field.jsonName]
  return value
}

/** `.` and `..` would be folded away on the way, and the call would be another. */
function encodePath(name: string, value: string, isMany: boolean): string {
  const segments = isMany ? value.split('/') : [value]
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw invalidArgument(name, `${JSON.stringify(value)} is no uid: it has a segment of dots`)
  return segments.map(encodeURIComponent).join('/')
}

function queryOf(desc: DescMessage, values: JsonObject, prefix = ''): string[] {
  return desc.fields.flatMap((field) => {
    const value = values[field.jsonName]
    return value === undefined ? [] : parametersOf(field, value, prefix + field.name)
  })
}

function parametersOf(field: DescField, value: JsonValue, name: string): string[] {
  if (Array.isArray(value)) return value.map((one) => parameter(name, one))
  if (typeof value !== 'object' || value === null) return [parameter(name, value)]
  if (field.fieldKind === 'map')
    return Object.entries(value).map(([key, one]) => parameter(`${name}[${key}]`, one))
  return field.message ? queryOf(field.message, value, `${name}.`) : []
}

const parameter = (name: string, value: JsonValue) =>
  `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`
