// Applies the operations of a PATCH (RFC 7644 section 3.5.2) to a copy of a resource. If one fails, none takes effect.
import { openBudget } from '../budget.ts'
import { badRequest } from '../errors.ts'
import { maxComparedByPatch, maxOperations } from '../limits.ts'
import { requireObject } from '../schema/normalize.ts'
import type { Resource, ResourceType } from '../schema/schema.ts'
import { extensionNamed } from '../schema/schema.ts'
import type { Change } from './change.ts'
import { applyChange } from './change.ts'
import { targetOf } from './target.ts'

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

type Operation = { op: 'add' | 'remove' | 'replace'; path: string | undefined; value: unknown }

/** The names of JSON members and of operations may be in any letter case: Entra sends `Replace`. */
function readOperations(body: Resource): Operation[] {
  const schemas = memberOf(body, 'schemas')
  if (
    !Array.isArray(schemas) ||
    !schemas.some((urn) => String(urn).toLowerCase() === patchSchema.toLowerCase())
  )
    throw badRequest('invalidSyntax', `schemas must contain ${patchSchema}`)
  const operations = memberOf(body, 'Operations')
  if (!Array.isArray(operations) || operations.length === 0)
    throw badRequest('invalidSyntax', 'Operations must be a list with at least one operation')
  if (operations.length > maxOperations)
    throw badRequest('invalidSyntax', `Operations must have at most ${maxOperations} operations`)
  return operations.map(readOperation)
}

function readOperation(input: unknown): Operation {
  const operation = requireObject('an operation', input)
  const op = String(memberOf(operation, 'op')).toLowerCase()
  const path = memberOf(operation, 'path')
  if (op !== 'add' && op !== 'remove' && op !== 'replace')
    throw badRequest('invalidSyntax', 'op must be add, remove or replace')
  if (path !== undefined && typeof path !== 'string') throw badRequest('invalidPath', 'path must be a string')
  return { op, path: path === '' ? undefined : path, value: memberOf(operation, 'value') }
}

const memberOf = (holder: Resource, name: string): unknown =>
  Object.entries(holder).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1]

/** The changes that a PATCH makes, in order. */
export function readChanges(type: ResourceType, body: Resource): Change[] {
  const changes = readOperations(body).flatMap((operation) => changesOf(type, operation))
  // An operation without a path makes one change for each member of its value, even if two name the same attribute.
  if (changes.length > maxOperations)
    throw badRequest('invalidSyntax', `Operations must change at most ${maxOperations} attributes`)
  return changes
}

/** Returns the changed copy. */
export function applyChanges(resource: Resource, changes: readonly Change[]): Resource {
  const copy = structuredClone(resource)
  const budget = openBudget(maxComparedByPatch, 'send fewer operations, or simpler filters')
  for (const change of changes) applyChange(copy, change, budget)
  return copy
}

/** The value of an operation without a path is an object, and the names of its members are paths. */
function changesOf(type: ResourceType, { op, path, value }: Operation): Change[] {
  if (path !== undefined) return changesAt(type, op, path, value)
  if (op === 'remove') throw badRequest('noTarget', 'remove needs a path')
  return Object.entries(requireObject('value', value)).flatMap(([name, inner]) =>
    isFixed(name) ? [] : changesAt(type, op, name, inner),
  )
}

/** The path names an attribute, or an extension. An extension that is null has no values (RFC 7643 section 2.5). */
function changesAt(type: ResourceType, op: Change['op'], path: string, value: unknown): Change[] {
  const extension = extensionNamed(type, path)
  if (!extension) return [changeOf(type, op, path, value)]
  const { id, attributes } = extension
  if (op === 'remove' || value === null)
    return attributes.map(({ name }) => changeOf(type, 'remove', `${id}:${name}`, undefined))
  return Object.entries(requireObject(path, value)).flatMap(([name, inner]) =>
    isFixed(name) ? [] : [changeOf(type, op, `${id}:${name}`, inner)],
  )
}

const changeOf = (type: ResourceType, op: Change['op'], path: string, value: unknown): Change => ({
  ...{ op, target: targetOf(type, path), value },
})

/** Attributes that cannot change. They are ignored, because Okta sends them along with the changed ones. */
const isFixed = (name: string) => ['schemas', 'id', 'meta'].includes(name.toLowerCase())
