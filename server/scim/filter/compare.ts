// Compares the values of an attribute with the value in a filter (RFC 7644 section 3.4.2.2, table 3).
import { badRequest } from '../errors.ts'
import type { Attribute } from '../schema/attribute.ts'
import type { Literal, Operator } from './parse.ts'

/** The test of all values of an attribute. A list matches if one of its values does. */
export function compareValues(
  attribute: Attribute,
  operator: Operator,
  literal: Literal,
): (values: readonly unknown[]) => boolean {
  // An attribute without a value is equal to null only.
  if (literal === null) {
    if (operator === 'eq') return (values) => values.length === 0
    if (operator === 'ne') return (values) => values.length > 0
    throw unsupported(attribute, operator)
  }
  const test = testOfOne(attribute, operator, literal)
  if (operator === 'ne') return (values) => values.length === 0 || values.some(test)
  return (values) => values.some(test)
}

function testOfOne(attribute: Attribute, operator: Operator, literal: Literal): (value: unknown) => boolean {
  const expected = keyOf(attribute, literal)
  if (expected === undefined) throw unsupported(attribute, operator)
  const isText = typeof expected === 'string'
  const isOrder = operator === 'gt' || operator === 'ge' || operator === 'lt' || operator === 'le'
  const isPart = operator === 'co' || operator === 'sw' || operator === 'ew'
  if ((isPart && !isText) || (isOrder && (typeof expected === 'boolean' || attribute.type === 'binary')))
    throw unsupported(attribute, operator)
  return (value) => {
    const actual = keyOf(attribute, value)
    return actual !== undefined && typeof actual === typeof expected && matches(operator, actual, expected)
  }
}

function matches(
  operator: Operator,
  actual: string | number | boolean,
  expected: string | number | boolean,
): boolean {
  switch (operator) {
    case 'eq':
      return actual === expected
    case 'ne':
      return actual !== expected
    case 'co':
      return String(actual).includes(String(expected))
    case 'sw':
      return String(actual).startsWith(String(expected))
    case 'ew':
      return String(actual).endsWith(String(expected))
    case 'gt':
      return actual > expected
    case 'ge':
      return actual >= expected
    case 'lt':
      return actual < expected
    case 'le':
      return actual <= expected
  }
}

/**
 * The value in the form in which it is compared: text in lower case unless the attribute is case-exact, times as
 * numbers. Undefined if the value does not have the type of the attribute.
 */
export function keyOf(attribute: Attribute, value: unknown): string | number | boolean | undefined {
  switch (attribute.type) {
    case 'boolean':
      // Entra sends booleans as text.
      if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
      return typeof value === 'boolean' ? value : undefined
    case 'integer':
    case 'decimal':
      return typeof value === 'number' ? value : undefined
    case 'dateTime': {
      const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
      return Number.isNaN(time) ? undefined : time
    }
    case 'complex':
      return undefined
    default:
      if (typeof value !== 'string') return undefined
      return attribute.caseExact ? value : value.toLowerCase()
  }
}

const unsupported = ({ name }: Attribute, operator: Operator) =>
  badRequest('invalidFilter', `${name} cannot be compared with this value by ${operator}`)
