// The subject, action and resource of a request (AuthZEN 1.0 section 5). Properties and context are accepted, and decide
// nothing: access in Stemma does not depend on attributes. Unknown members are ignored.
import { invalidField } from '../../aip/errors.ts'
import type { JsonObject } from './read-object.ts'
import { isObject } from './read-object.ts'

export type Entity = { type: string; id: string }
export type Question = { subject: Entity; action: string; resource: Entity }

/** `path` is prepended to field names in errors: empty, or a prefix such as `evaluations[3].`. */
export function readQuestion(body: JsonObject, path = ''): Question {
  readContext(body, path)
  return {
    subject: readEntity(body, 'subject', path),
    action: readAction(body, path),
    resource: readEntity(body, 'resource', path),
  }
}

export function readEntity(body: JsonObject, name: 'subject' | 'resource', path = ''): Entity {
  const entity = requiredObject(body, name, path)
  optionalObject(entity, 'properties', `${path}${name}.`)
  return {
    type: requiredString(entity, 'type', `${path}${name}.`),
    id: requiredString(entity, 'id', `${path}${name}.`),
  }
}

/** The type of the entity that is searched for. Its id is ignored. */
export function readType(body: JsonObject, name: 'subject' | 'resource'): string {
  const entity = requiredObject(body, name, '')
  optionalObject(entity, 'properties', `${name}.`)
  return requiredString(entity, 'type', `${name}.`)
}

export function readAction(body: JsonObject, path = ''): string {
  const action = requiredObject(body, 'action', path)
  optionalObject(action, 'properties', `${path}action.`)
  return requiredString(action, 'name', `${path}action.`)
}

export const readContext = (body: JsonObject, path = '') => void optionalObject(body, 'context', path)

function requiredObject(body: JsonObject, name: string, path: string): JsonObject {
  const value = optionalObject(body, name, path)
  if (!value) throw invalidField(path + name, 'is required')
  return value
}

/** Null means absent (AuthZEN 1.0 section 11.5). */
export function optionalObject(body: JsonObject, name: string, path: string): JsonObject | undefined {
  const value = body[name] ?? undefined
  if (value === undefined || isObject(value)) return value
  throw invalidField(path + name, 'must be a JSON object')
}

function requiredString(body: JsonObject, name: string, path: string): string {
  const value = optionalString(body, name, path)
  if (value === undefined) throw invalidField(path + name, 'is required')
  return value
}

export function optionalString(body: JsonObject, name: string, path: string): string | undefined {
  const value = body[name] ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw invalidField(path + name, 'must be a string')
}
