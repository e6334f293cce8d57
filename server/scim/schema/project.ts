// Selects the attributes of a response (RFC 7644 section 3.9).
import { badRequest } from '../errors.ts'
import { maxAttributeNames } from '../limits.ts'
import type { AttributePath, Resource, ResourceType } from './schema.ts'
import { resolvePath } from './schema.ts'

/** Names of attributes to return, or not to return. */
export type Selection = { attributes: readonly string[]; excludedAttributes: readonly string[] }

export function readNames(names: readonly string[]): string[] {
  const list = names.flatMap((text) => text.split(',')).map((name) => name.trim())
  const present = list.filter((name) => name !== '')
  if (present.length > maxAttributeNames)
    throw badRequest('invalidValue', `at most ${maxAttributeNames} attributes can be selected`)
  return present
}

/** Whether a response contains an attribute, so that it has to be read from the store. */
export function includes(type: ResourceType, selection: Selection, name: string): boolean {
  const { attributes, excludedAttributes } = selection
  const named = (names: readonly string[]) =>
    names.some((path) => resolvePath(type, path)?.attribute.name === name)
  if (attributes.length > 0) return named(attributes)
  return !excludedAttributes.some((path) => path.toLowerCase() === name.toLowerCase())
}

export function project(type: ResourceType, resource: Resource, selection: Selection): Resource {
  const { attributes, excludedAttributes } = selection
  if (attributes.length > 0)
    return onlySelected(resource, pathsOf(type, attributes), urnsOf(type, attributes))
  return withoutSelected(resource, pathsOf(type, excludedAttributes), urnsOf(type, excludedAttributes))
}

const pathsOf = (type: ResourceType, names: readonly string[]): AttributePath[] =>
  names.flatMap((name) => resolvePath(type, name) ?? [])

/** Extensions that are named as a whole. */
const urnsOf = ({ extensions }: ResourceType, names: readonly string[]): string[] =>
  extensions.flatMap(({ id }) => (names.some((name) => name.toLowerCase() === id.toLowerCase()) ? [id] : []))

/** The paths of an extension, relative to its object. */
const pathsIn = (paths: readonly AttributePath[], urn: string): AttributePath[] =>
  paths.filter(({ extension }) => extension === urn).map((path) => ({ ...path, extension: undefined }))

/** Attributes that every response has. */
const isAlwaysReturned = (name: string) => name === 'schemas' || name === 'id'

function onlySelected(
  resource: Resource,
  paths: readonly AttributePath[],
  urns: readonly string[],
): Resource {
  const result: Resource = {}
  for (const [name, value] of Object.entries(resource)) {
    const named = paths.filter((path) => path.extension === undefined && path.attribute.name === name)
    const below = pathsIn(paths, name)
    if (isAlwaysReturned(name) || urns.includes(name) || named.some(({ sub }) => !sub)) result[name] = value
    else if (named.length > 0)
      result[name] = mapValues(value, (one) =>
        pick(
          one,
          named.flatMap(({ sub }) => sub?.name ?? []),
        ),
      )
    else if (below.length > 0) result[name] = onlySelected(value as Resource, below, []) // extensions are objects
  }
  return result
}

function withoutSelected(
  resource: Resource,
  paths: readonly AttributePath[],
  urns: readonly string[],
): Resource {
  const result: Resource = {}
  for (const [name, value] of Object.entries(resource)) {
    const named = paths.filter((path) => path.extension === undefined && path.attribute.name === name)
    const below = pathsIn(paths, name)
    const isExcluded = urns.includes(name) || named.some(({ sub }) => !sub)
    if (isExcluded && !isAlwaysReturned(name)) continue
    const omitted = named.flatMap(({ sub }) => sub?.name ?? [])
    if (omitted.length > 0) result[name] = mapValues(value, (one) => omit(one, omitted))
    else if (below.length > 0)
      result[name] = withoutSelected(value as Resource, below, []) // extensions are objects
    else result[name] = value
  }
  return result
}

const mapValues = (value: unknown, change: (one: unknown) => unknown) =>
  Array.isArray(value) ? value.map(change) : change(value)

const pick = (value: unknown, names: readonly string[]) =>
  Object.fromEntries(Object.entries(value as Resource).filter(([name]) => names.includes(name)))

const omit = (value: unknown, names: readonly string[]) =>
  Object.fromEntries(Object.entries(value as Resource).filter(([name]) => !names.includes(name)))
