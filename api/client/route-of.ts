// The route of a call, as its descriptor has it.
import type { DescMessage, DescMethod } from '@bufbuild/protobuf'
import { bindingsOf } from '../http-binding.ts'
import type { Route } from './route.ts'

// Reading an option decodes it each time.
const known = new WeakMap<DescMethod, Route>()

export function routeOf(method: DescMethod): Route {
  let route = known.get(method)
  if (!route) {
    route = readRoute(method)
    known.set(method, route)
  }
  return route
}

function readRoute(method: DescMethod): Route {
  const { input, output } = method
  const [binding] = bindingsOf(method)
  if (!binding) throw new Error(`${method.parent.typeName}.${method.name} has no http rule`)
  const { verb, path, body } = binding
  const bodyField = input.fields.find(({ name }) => name === body)
  const [first] = output.fields
  const items = verb === 'GET' && first?.fieldKind === 'list' && first.message ? first.jsonName : undefined
  return {
    verb,
    path: path.replace(/\{([^=}]+)/g, (_, name: string) => `{${jsonPath(input, name)}`),
    ...(body !== '' && { body: bodyField?.jsonName ?? body }),
    ...(bodyField?.fieldKind === 'list' && { isListBody: true }),
    ...(method.methodKind === 'server_streaming' && { isStream: true }),
    ...(items && { items }),
    ...(items && input.field.pageSize && { isPaged: true }),
  }
}

function jsonPath(desc: DescMessage, path: string): string {
  const [first, ...others] = path.split('.')
  const field = desc.fields.find(({ name }) => name === first)
  if (!field) throw new Error(`${desc.typeName} has no field ${path}`)
  if (others.length === 0 || !field.message) return field.jsonName
  return `${field.jsonName}.${jsonPath(field.message, others.join('.'))}`
}
