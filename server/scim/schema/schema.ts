// Types of resources: their schemas, and the paths of their attributes.
import type { Attribute } from './attribute.ts'
import { attribute, complex, findAttribute } from './attribute.ts'

export type Schema = { id: string; name: string; description: string; attributes: readonly Attribute[] }

export type ResourceType = {
  /** `User` or `Group`. */
  name: string
  description: string
  /** The last segment of its endpoint. */
  endpoint: string
  schema: Schema
  extensions: readonly Schema[]
}

/** A resource in its normalized form: attributes in the spelling of the schema, extensions under their URN. */
export type Resource = { [name: string]: unknown }

/** Attributes of every resource (RFC 7643 section 3.1). */
export const commonAttributes: readonly Attribute[] = [
  attribute('schemas', 'The URNs of the schemas of the resource.', {
    ...{ multiValued: true, type: 'reference', caseExact: true, returned: 'always', mutability: 'readOnly' },
  }),
  attribute('id', 'The identifier that this server has assigned.', {
    ...{ caseExact: true, mutability: 'readOnly', returned: 'always', uniqueness: 'server' },
  }),
  attribute('externalId', 'The identifier that the client has assigned.', { caseExact: true }),
  complex(
    'meta',
    'Facts about the resource.',
    [
      attribute('resourceType', 'The type of the resource.', { caseExact: true, mutability: 'readOnly' }),
      attribute('created', 'When it was created.', { type: 'dateTime', mutability: 'readOnly' }),
      attribute('lastModified', 'When it was last changed.', { type: 'dateTime', mutability: 'readOnly' }),
      attribute('location', 'Its URL.', { type: 'reference', caseExact: true, mutability: 'readOnly' }),
      attribute('version', 'Its entity tag.', { caseExact: true, mutability: 'readOnly' }),
    ],
    { mutability: 'readOnly' },
  ),
]

/** An attribute of a resource, and optionally one of its sub-attributes. */
export type AttributePath = {
  /** The URN of the extension that has the attribute; undefined for other attributes. */
  extension: string | undefined
  attribute: Attribute
  sub: Attribute | undefined
}

/**
 * Finds the attribute that a path such as `name.givenName` or `urn:…:User:department` names. Undefined if the type has no
 * such attribute.
 */
export function resolvePath(type: ResourceType, path: string): AttributePath | undefined {
  const { extension, rest } = splitUrn(type, path)
  const [name = '', subName, ...others] = rest.split('.')
  if (others.length > 0) return undefined
  const attributes = extension ? extension.attributes : [...commonAttributes, ...type.schema.attributes]
  const found = findAttribute(attributes, name)
  if (!found) return undefined
  const sub = subName === undefined ? undefined : findAttribute(found.subAttributes, subName)
  if (subName !== undefined && !sub) return undefined
  return { extension: extension?.id, attribute: found, sub }
}

/** Splits the URN of a schema from the path that follows it. URNs contain dots, as in `2.0`. */
export function splitUrn(
  { schema, extensions }: ResourceType,
  path: string,
): { extension: Schema | undefined; rest: string } {
  const lower = path.toLowerCase()
  for (const candidate of [schema, ...extensions])
    if (lower.startsWith(`${candidate.id.toLowerCase()}:`)) {
      const rest = path.slice(candidate.id.length + 1)
      return { extension: candidate === schema ? undefined : candidate, rest }
    }
  return { extension: undefined, rest: path }
}

/** The extension with this URN. */
export const extensionNamed = ({ extensions }: ResourceType, urn: string): Schema | undefined =>
  extensions.find(({ id }) => id.toLowerCase() === urn.toLowerCase())

/** The object of a resource that contains an attribute: the resource itself, or one of its extensions. */
export const holderOf = (resource: Resource, extension: string | undefined): Resource =>
  extension === undefined ? resource : ((resource[extension] ?? {}) as Resource) // extensions are objects
