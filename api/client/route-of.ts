import type { DescMessage, DescMethod } from '@bufbuild/protobuf'
import { bindingsOf } from '../http-binding.ts'
import { isCreateMethod } from '../is-create.ts'
import type { Route } from './route.ts'

/**
 * Reads the route of an RPC from its descriptor. The result is not cached: keep it if it is needed often.
 *
 * @example
 * ```ts
 * import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
 *
 * routeOf(GroupsService.method.getGroup) // { verb: 'GET', path: '/iam/v2beta1/groups/{uid=**}' }
 * ```
 */
export function routeOf(method: DescMethod): Route {
  const { input, output } = method
  const [binding] = bindingsOf(method)
  if (!binding) throw new Error(`${method.parent.typeName}.${method.name} has no http rule`)
  const { verb, path, body } = binding
  const bodyField = input.fields.find(({ name }) => name === body)
  // The first field of a list response contains the items (AIP-158).
  const [firstField] = output.fields
  const isList = verb === 'GET' && firstField?.fieldKind === 'list' && firstField.message !== undefined
  const items = isList ? firstField.jsonName : undefined
  return {
    verb,
    path: path.replace(/\{([^=}]+)/g, (_, name: string) => `{${jsonPath(input, name)}`),
    ...(body !== '' && { body: bodyField?.jsonName ?? body }),
    ...(bodyField?.fieldKind === 'list' && { isListBody: true }),
    ...(method.methodKind === 'server_streaming' && { isStream: true }),
    ...(isCreateMethod(method) && { isCreate: true }),
    ...(items && { items }),
    ...(items && input.field.pageSize && { isPaged: true }),
  }
}

/** Converts a field path such as `group.parent_uid` to JSON names. */
function jsonPath(desc: DescMessage, path: string): string {
  const [first, ...others] = path.split('.')
  const field = desc.fields.find(({ name }) => name === first)
  if (!field) throw new Error(`${desc.typeName} has no field ${path}`)
  if (others.length === 0 || !field.message) return field.jsonName
  return `${field.jsonName}.${jsonPath(field.message, others.join('.'))}`
}
