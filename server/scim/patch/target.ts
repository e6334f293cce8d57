// The target of a PATCH operation: the attribute that its path names.
import type { Budget } from '../budget.ts'
import { badRequest, shortened } from '../errors.ts'
import { valueTestOf } from '../filter/evaluate.ts'
import type { Filter } from '../filter/parse.ts'
import { parsePath } from '../filter/parse.ts'
import type { Attribute } from '../schema/attribute.ts'
import { findAttribute } from '../schema/attribute.ts'
import type { AttributePath, ResourceType } from '../schema/schema.ts'
import { resolvePath } from '../schema/schema.ts'

export type Target = AttributePath & {
  path: string
  /** Selects values of the attribute. */
  selection: { filter: Filter; test(value: unknown, budget: Budget): boolean } | undefined
}

export function targetOf(type: ResourceType, path: string): Target {
  const { attribute: name, filter, sub: subName } = parsePath(path)
  const found = resolvePath(type, name)
  if (!found) throw invalidPath(path)
  const { extension, attribute } = found
  if (filter && (!attribute.multiValued || found.sub)) throw invalidPath(path)
  const sub = subName === undefined ? found.sub : requireSub(attribute, subName, path)
  requireWritable(attribute, sub)
  const selection = filter && { filter, test: valueTestOf(attribute, filter) }
  return { path, extension, attribute, sub, selection }
}

function requireSub(attribute: Attribute, name: string, path: string): Attribute {
  const sub = findAttribute(attribute.subAttributes, name)
  if (!sub) throw invalidPath(path)
  return sub
}

function requireWritable(attribute: Attribute, sub: Attribute | undefined): void {
  const readOnly = [attribute, sub].find((candidate) => candidate?.mutability === 'readOnly')
  if (readOnly) throw badRequest('mutability', `${readOnly.name} cannot be changed`)
  if (sub?.mutability === 'immutable')
    throw badRequest('mutability', `${attribute.name}.${sub.name} cannot be changed; replace the whole value`)
}

const invalidPath = (path: string) =>
  badRequest('invalidPath', `there is no attribute ${JSON.stringify(shortened(path))} to change`)
