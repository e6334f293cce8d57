// Normalizes the attributes that a client sends: spelling of the schema, checked types, no read-only attributes,
// nothing that the schema does not have. Names such as `__proto__` are in no schema.
import { invalidValue, shortened } from '../errors.ts'
import { maxTextLength, maxValues } from '../limits.ts'
import type { Attribute } from './attribute.ts'
import { findAttribute } from './attribute.ts'
import type { Resource, ResourceType } from './schema.ts'
import { commonAttributes, extensionNamed, resolvePath } from './schema.ts'

const externalId = commonAttributes.filter(({ name }) => name === 'externalId')

export const writableAttributes = ({ schema }: ResourceType): readonly Attribute[] => [
  ...externalId,
  ...schema.attributes,
]

/** The attributes of a whole resource. Unknown and read-only ones are ignored (RFC 7644 section 3.3). */
export function normalizeResource(type: ResourceType, input: Resource): Resource {
  const resource: Resource = {}
  for (const [name, value] of Object.entries(input)) {
    const extension = extensionNamed(type, name)
    if (extension) {
      if (value === null) continue
      const content = normalizeObject(extension.attributes, requireObject(name, value), name)
      if (Object.keys(content).length > 0) resource[extension.id] = content
      continue
    }
    const attribute = findAttribute(writableAttributes(type), nameWithoutUrn(type, name))
    if (attribute) assign(resource, attribute, value, attribute.name)
  }
  return resource
}

/** `urn:ietf:params:scim:schemas:core:2.0:User:userName` is `userName`. */
function nameWithoutUrn(type: ResourceType, name: string): string {
  const found = name.includes(':') ? resolvePath(type, name) : undefined
  return found && !found.extension && !found.sub ? found.attribute.name : name
}

export function requireObject(name: string, value: unknown): Resource {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidValue(`${shortened(name)} must be an object`)
  return value as Resource
}

function normalizeObject(attributes: readonly Attribute[], input: Resource, path: string): Resource {
  const content: Resource = {}
  for (const [name, value] of Object.entries(input)) {
    const attribute = findAttribute(attributes, name)
    if (attribute) assign(content, attribute, value, `${path}.${attribute.name}`)
  }
  return content
}

/** The values of read-only attributes are not even checked, because they are ignored. */
function assign(holder: Resource, attribute: Attribute, value: unknown, path: string): void {
  if (attribute.mutability === 'readOnly') return
  const normalized = normalizeValue(attribute, value, path)
  if (normalized !== undefined) holder[attribute.name] = normalized
}

/** Undefined for null and for an empty list, which both mean that there is no value (RFC 7643 section 2.5). */
export function normalizeValue(attribute: Attribute, value: unknown, path: string): unknown {
  if (value === null || value === undefined) return undefined
  if (!attribute.multiValued) return normalizeOne(attribute, value, path)
  const values = Array.isArray(value) ? value : [value]
  if (attribute.name !== 'members' && values.length > maxValues)
    throw invalidValue(`${path} must have at most ${maxValues} values`)
  const normalized = values.flatMap((item) => {
    const one = normalizeOne(attribute, item, path)
    return one === undefined ? [] : [one]
  })
  return normalized.length === 0 ? undefined : normalized
}

/** One value of an attribute. */
export function normalizeOne(attribute: Attribute, value: unknown, path: string): unknown {
  if (attribute.type !== 'complex') return normalizeSimple(attribute, value, path)
  // Entra sends the manager, and sometimes values of lists, as plain text.
  const input = typeof value === 'string' ? { value } : requireObject(path, value)
  const content = normalizeObject(attribute.subAttributes ?? [], input, path)
  return Object.keys(content).length === 0 ? undefined : content
}

function normalizeSimple({ type }: Attribute, value: unknown, path: string): unknown {
  switch (type) {
    case 'boolean':
      // Entra sends booleans as text.
      if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
      if (typeof value === 'boolean') return value
      throw invalidValue(`${path} must be true or false`)
    case 'integer':
    case 'decimal':
      if (typeof value === 'number' && Number.isFinite(value)) return value
      throw invalidValue(`${path} must be a number`)
    default:
      return normalizeText(value, path)
  }
}

function normalizeText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidValue(`${path} must be a string`)
  if (value.length > maxTextLength)
    throw invalidValue(`${path} must have at most ${maxTextLength} characters`)
  // PostgreSQL cannot store NUL, and UTF-8 cannot encode lone surrogates.
  if (value.includes('\0') || !value.isWellFormed())
    throw invalidValue(`${path} must be well-formed text without NUL`)
  return value
}

/** Throws if a required attribute is missing, or if an attribute has several primary values. */
export function requireValid(type: ResourceType, resource: Resource): void {
  for (const { name, required } of type.schema.attributes)
    if (required && (resource[name] === undefined || resource[name] === ''))
      throw invalidValue(`${name} is required`)
  for (const { name, multiValued } of type.schema.attributes) {
    const values = multiValued ? ((resource[name] ?? []) as unknown[]) : []
    const primary = values.filter((value) => (value as Resource).primary === true) // lists contain objects
    if (primary.length > 1) throw invalidValue(`${name} must have at most one primary value`)
  }
}
