// Evaluates filters. Names of attributes are resolved first, so that an unknown one is an error and not an empty list.
import type { Budget } from '../budget.ts'
import { badRequest, shortened } from '../errors.ts'
import type { Attribute } from '../schema/attribute.ts'
import { findAttribute } from '../schema/attribute.ts'
import type { Resource, ResourceType } from '../schema/schema.ts'
import { holderOf, resolvePath } from '../schema/schema.ts'
import { compareValues } from './compare.ts'
import type { Filter } from './parse.ts'

/** Spends the characters of all values that it compares. */
export type Test = (resource: Resource, budget: Budget) => boolean

type Found = { attribute: Attribute; valuesOf(holder: Resource): unknown[] }

/** Where the names in a filter are looked up. */
type Scope = {
  /** The attribute to compare. Undefined if there is none. */
  find(path: string): Found | undefined
  /** The attribute whose values a filter in brackets selects. Undefined if there is none. */
  findList(path: string): Found | undefined
}

/** The test of a filter on resources of a type. */
export const testOf = (type: ResourceType, filter: Filter): Test => compile(filter, scopeOf(type))

/** The test of a filter in brackets on single values of an attribute. */
export function valueTestOf(
  attribute: Attribute,
  filter: Filter,
): (value: unknown, budget: Budget) => boolean {
  const test = compile(filter, scopeBelow(attribute))
  return (value, budget) => test(isObject(value) ? value : { value }, budget)
}

export const isObject = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const listOf = (value: unknown): unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

function scopeOf(type: ResourceType): Scope {
  const findList = (path: string): Found | undefined => {
    const found = resolvePath(type, path)
    if (!found || found.sub) return undefined
    const { extension, attribute } = found
    return { attribute, valuesOf: (resource) => listOf(holderOf(resource, extension)[attribute.name]) }
  }
  return {
    findList,
    find(path) {
      const found = resolvePath(type, path)
      if (!found) return undefined
      const { extension, attribute } = found
      const sub = found.sub ?? defaultSub(attribute)
      const valuesOf = (resource: Resource) => {
        const values = listOf(holderOf(resource, extension)[attribute.name])
        return sub ? values.flatMap((value) => listOf((value as Resource)[sub.name])) : values // complex values are objects
      }
      return { attribute: sub ?? attribute, valuesOf }
    },
  }
}

/** A complex attribute without a sub-attribute stands for its sub-attribute `value` (RFC 7644 section 3.4.2.2). */
const defaultSub = ({ type, subAttributes }: Attribute) =>
  type === 'complex' ? findAttribute(subAttributes, 'value') : undefined

/** Values of a simple attribute are found by the name `value`. */
const scopeBelow = (parent: Attribute): Scope => ({
  findList: () => undefined,
  find(path) {
    const isValue = !parent.subAttributes && path.toLowerCase() === 'value'
    const attribute = isValue ? { ...parent, name: 'value' } : findAttribute(parent.subAttributes, path)
    return attribute && { attribute, valuesOf: (holder) => listOf(holder[attribute.name]) }
  },
})

function compile(filter: Filter, scope: Scope): Test {
  switch (filter.kind) {
    case 'and': {
      const tests = filter.parts.map((part) => compile(part, scope))
      return (resource, budget) => tests.every((test) => test(resource, budget))
    }
    case 'or': {
      const tests = filter.parts.map((part) => compile(part, scope))
      return (resource, budget) => tests.some((test) => test(resource, budget))
    }
    case 'not': {
      const test = compile(filter.part, scope)
      return (resource, budget) => !test(resource, budget)
    }
    case 'present': {
      const { valuesOf } = requireFound(scope.find(filter.path) ?? scope.findList(filter.path), filter.path)
      return (resource, budget) => paidFor(valuesOf(resource), budget).some((value) => value !== '')
    }
    case 'value': {
      const { attribute, valuesOf } = requireFound(scope.findList(filter.path), filter.path)
      const test = valueTestOf(attribute, filter.part)
      return (resource, budget) => valuesOf(resource).some((value) => test(value, budget))
    }
    case 'compare': {
      const { attribute, valuesOf } = requireFound(scope.find(filter.path), filter.path)
      const test = compareValues(attribute, filter.operator, filter.value)
      return (resource, budget) => test(paidFor(valuesOf(resource), budget))
    }
  }
}

/** The fixed cost of comparing a value: as much as comparing this many characters. */
const charactersPerValue = 16

function paidFor(values: unknown[], budget: Budget): unknown[] {
  const lengths = values.map((value) => (typeof value === 'string' ? value.length : 0))
  const characters = lengths.reduce(
    (total, length) => total + length + charactersPerValue,
    charactersPerValue,
  )
  budget.spend(characters)
  return values
}

function requireFound(found: Found | undefined, path: string): Found {
  if (!found)
    throw badRequest('invalidFilter', `there is no attribute ${JSON.stringify(shortened(path))} to filter by`)
  return found
}
